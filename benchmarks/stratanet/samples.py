"""The first texts that were written for each class of Table 3's teachers (seed 0), as they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.harness.data import read
from benchmarks.speed.measure import Measurement
from benchmarks.stratanet import table3

EACH = 2


def run(data: Path, work: Path) -> dict[str, Any]:
    found: dict[str, dict[str, list[str]]] = {}
    for setting in table3.SETTINGS:
        stages = table3.TABLE.stages(setting, 0, data, work.parent)
        texts = read(stages.pool("generated"))
        classes: dict[str, list[str]] = {label: [] for label in setting.space.names}
        for text, label in zip(texts["text"], texts["label"], strict=True):
            if len(classes[label]) < EACH:
                classes[label].append(text)
        found[setting.title] = classes
    return found


TABLE = Measurement("samples", "the first generated texts of each class", run, "stratanet")
