"""Whether a classifier's labels exclude each other, as its config.json says."""

from __future__ import annotations

from typing import Any

MULTI_LABEL = "multi_label_classification"
SINGLE_LABEL = "single_label_classification"


def is_multi_label(config: Any) -> bool:
    """Whether the labels of a transformers configuration do not exclude each other."""
    return bool(getattr(config, "problem_type", None) == MULTI_LABEL)


def set_multi_label(config: Any, multi_label: bool) -> None:
    """Write it into a configuration."""
    config.problem_type = MULTI_LABEL if multi_label else SINGLE_LABEL
