"""What alloykit keeps in a classifier's config.json: its temperature, and the estimated accuracy of its labels."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alloykit.files import write_atomic

TEMPERATURE = "alloykit_temperature"
"""Key of config.json. The logits divided by it give probabilities that are as confident as the student's supervision."""

ESTIMATED = "alloykit_estimated_accuracy"
"""Key of config.json: label → the estimated accuracy of the answers with this label, from 0 to 1, or null (methods/inputs.py: EstimatedAccuracy)."""

IN_GRAPH = "alloykit_temperature_in_graph"
"""Key of the config.json of an ONNX export: the temperature by which the graph has already divided its logits."""

ONE_LENGTH = "alloykit_one_length"
"""Key of the config.json of an ONNX export: true if padding changes the student's answers, so that texts of the same length are read together."""


def temperature_of(config: Any) -> float:
    """The temperature in a model's configuration; 1 if there is none."""
    return fitted_temperature(config) or 1.0


def fitted_temperature(config: Any) -> float | None:
    """The temperature that was fitted for a finished student, in its configuration; None if there is none yet. It stays: a run that is started again,
    perhaps with other versions or another number of threads, must not change a finished student."""
    found = getattr(config, TEMPERATURE, None)
    return float(found) if found else None


def is_temperature(value: Any) -> bool:
    """Whether a value is a positive, finite number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0


def estimated_accuracy_of(config: Mapping[str, Any]) -> dict[str, float | None]:
    """The estimated accuracy by label in a config.json; empty if there is none, or no valid one."""
    found = config.get(ESTIMATED)
    if not isinstance(found, dict) or not all(value is None or _is_share(value) for value in found.values()):
        return {}
    return found


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def save_in_config(folder: Path, values: Mapping[str, Any]) -> None:
    """Write keys into a classifier's config.json in one atomic step. A value of None leaves the key as it is."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    given = {key: value for key, value in values.items() if value is not None}
    if any(config.get(key) != value for key, value in given.items()):
        write_atomic(path, json.dumps(config | given, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
