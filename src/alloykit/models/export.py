"""The temperature in a classifier's config.json: read it, check it, write it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from alloykit.files import write_atomic

TEMPERATURE = "alloykit_temperature"
"""Key of config.json. The logits divided by it give probabilities that are as confident as the student's supervision."""

IN_GRAPH = "alloykit_temperature_in_graph"
"""Key of the config.json of an ONNX export: the temperature by which the graph has already divided its logits."""


def temperature_of(config: Any) -> float:
    """The temperature in a model's configuration; 1 if there is none."""
    return float(getattr(config, TEMPERATURE, None) or 1.0)


def is_temperature(value: Any) -> bool:
    """Whether a value is a positive, finite number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0


def save_temperature(folder: Path, temperature: float | None) -> None:
    """Write it into a classifier's config.json in one atomic step. None leaves the file as it is."""
    path = folder / "config.json"
    if temperature is None:
        return
    config = json.loads(path.read_text(encoding="utf-8"))
    if config.get(TEMPERATURE) != temperature:
        text = json.dumps(config | {TEMPERATURE: temperature}, indent=2, sort_keys=True, ensure_ascii=False)
        write_atomic(path, text + "\n")
