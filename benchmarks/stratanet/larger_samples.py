"""The first texts that were written for each class by each way of asking SmolLM2 (`larger`, seed 0), as they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.stages.recipe_texts import TEXTS_FILE
from benchmarks.harness.data import read
from benchmarks.speed.measure import Measurement
from benchmarks.stratanet import larger

EACH = 2


def run(data: Path, work: Path) -> dict[str, Any]:
    found: dict[str, dict[str, list[list[str]]]] = {}
    for setting in larger.SETTINGS:
        stages = larger.TABLE.stages(setting, 0, data, work.parent)
        if setting.name.endswith(larger.SMALL_MODEL) or not (stages.shared / stages._written / TEXTS_FILE).exists():
            continue  # Table 3's samples; not written yet
        texts = read(stages.pool("generated"))
        classes: dict[str, list[list[str]]] = {label: [] for label in setting.space.names}
        for text, label, predicted in zip(texts["text"], texts["label"], texts["predicted"], strict=True):
            if len(classes[label]) < EACH:
                classes[label].append([text, predicted])
        found[setting.title] = classes
    return found


TABLE = Measurement("larger_samples", "the first texts of SmolLM2 for each class", run, "stratanet")
