"""The methods, with options, that the contract is tried on; and the random teachers of alloykit.testing under the names of these tests."""

from __future__ import annotations

from typing import Any

from alloykit.methods.protocol import Context, Method
from alloykit.methods.registry import create, methods
from alloykit.outputs import Rows
from alloykit.testing.rows import (
    SETS,
    STUDENT,
    TEACHERS,
    context_of,
    losses,
    restrict_to_needs,
    space_of,
    student_logits,
    take,
)
from alloykit.testing.rows import RowSource as Pool
from alloykit.testing.rows import generated_rows as own_rows
from alloykit.testing.rows import random_rows as rows_of

__all__ = [
    "ALLOY",
    "SETS",
    "SPECS",
    "STUDENT",
    "TEACHERS",
    "Pool",
    "context_of",
    "losses",
    "made",
    "own_rows",
    "rows_of",
    "space_of",
    "student_logits",
    "take",
]

MUKA: list[dict[str, Any]] = [
    {"mode": "hard"},
    {"passes": 0},
    {"probabilities": "averaged"},
    {"reweight": False},
    {"confidence": "percentile"},
    {"confidence": "mixture", "mode": "hard"},
    {"confidence": "density"},
    {"confidence": "density", "mode": "hard", "passes": 0},
    {"confidence": "energy"},
    {"confidence": "max_logit", "mode": "hard"},
    {"normalise": "batch"},
    {"normalise": "group"},
    {"normalise": "group", "confidence": "percentile", "mode": "hard"},
    {"normalise": "batch", "weight_floor": 0.0},
    {"normalise": "group", "weight_floor": 0.0},
    {"distillation_temperature": 2.0},
    {"direction": "reverse", "smoothing": 0.01},
    {"direction": "reverse", "smoothing": 0.01, "mode": "hard"},
]
# Twelve texts are enough for its mixture.
ALLOY: dict[str, Any] = {"name": "alloy", "texts_per_label": 1, "min_texts": 1}
WITH: dict[str, dict[str, Any]] = {"pkd": {"which": 1}}  # the teacher that is as wide as the student
SPECS: list[dict[str, Any]] = [
    *(
        {"name": name} | WITH.get(name, {}) for name in methods()
    ),  # a method that is new in the registry is tried at once
    *({"name": "muka", **options} for options in MUKA),
    {"name": "vanilla_kd", "temperature": 2.0},
    {"name": "dfa", "temperature": 2.0, "feature_weight": 0.5},
    {"name": "dfa", "frozen_blocks": True},
    {"name": "cfl", "features": "tokens"},
    {"name": "uhc", "temperature": 2.0},
    {"name": "pseudo_label", "of": {"name": "muka", "mode": "hard"}},
    {"name": "pseudo_label", "of": {"name": "muka", "confidence": "percentile"}},
    {"name": "pseudo_label", "of": "vanilla_kd"},
    {"name": "routing", "of": {"name": "muka", "mode": "hard", "confidence": "mixture"}},
    {"name": "routing", "of": "ensemble"},
    {"name": "teacher", "which": 2},
    {"name": "stratanet", "confidence": "md", "amalgam": "mul"},
    {"name": "stratanet", "confidence": "msp", "amalgam": "linear", "intermediate": 0.5},
    ALLOY,
    ALLOY | {"encoder": None},
    {"name": "kd", "which": 2, "alpha": 0.2, "temperature": 5.0},
    {"name": "w_ensemble", "weights": [1.0, 2.0, 0.0]},
    {"name": "mt_bert", "hidden": False, "weighted": False},
    {"name": "distilbert", "which": 1},
    {"name": "pkd", "which": 1, "patience": "last"},
    *({"name": "rl_kd", "pretrain_epochs": 0, "reward": f"reward{n}"} for n in (1, 2, 3)),
    {"name": "rl_kd", "pretrain_epochs": 0, "schedule": "algorithm2", "score": "paper", "baseline": False},
]


def made(spec: dict[str, Any], kind: str, b: int = 12, **draw: Any) -> tuple[Method, Rows, Context]:
    """The method, rows of b texts, and a context fitted on a pool of at least twelve that has them in front."""
    method = create(spec)
    pool = restrict_to_needs(method, rows_of(kind, max(b, 12), **draw), space_of(kind))
    return method, take(pool, list(range(b))), context_of(method, pool, space_of(kind))
