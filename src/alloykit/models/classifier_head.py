"""Whether a model's head classifies: its numbers are those of at least two labels."""

from __future__ import annotations

from typing import Any

from alloykit.errors import AlloyError


def check_classifier_head(config: Any, role: str) -> None:
    """AlloyError for a head that gives numbers, and for fewer than two labels. config: of transformers. role: for messages, such as
    "as teacher 'billing'"."""
    if getattr(config, "problem_type", None) == "regression":
        raise AlloyError(
            expected=f"a single-label or multi-label classifier {role}",
            got="a regression head",
            hint="alloykit is for classifiers, not for models that give numbers.",
        )
    if config.num_labels < 2:
        raise AlloyError(
            expected=f"a classifier of at least two labels {role}",
            got=f"{config.num_labels} label",
            hint="A one-class (or regression) head has no uncertainty over classes. Retrain it with an 'other' label.",
        )
