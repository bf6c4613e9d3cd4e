"""One training run on random knowledge in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiny
from random_rows import Pool, context_of, rows_of, space_of

from alloykit.data import load_texts
from alloykit.methods.base import Method
from alloykit.methods.registry import create
from alloykit.training.dataset import tokenize
from alloykit.training.options import StudentSpec, TrainingOptions
from alloykit.training.student import build_student
from alloykit.training.trainer import Fitted, train

PLAIN = {
    "epochs": 2, "learning_rate": 1e-3, "max_length": 32, "warmup": 0.0, "scheduler": "constant",
    "max_grad_norm": 1e6, "select": "last", "held_out": 0.0,
}  # fmt: skip


def new_student(encoder: Path, kind: str = "disjoint", seed: int = 0) -> tuple[Any, Any]:
    return build_student(StudentSpec(model=str(encoder)), space_of(kind), seed)


def run(
    spec: dict[str, Any] | Method,
    encoder: Path,
    folder: Path,
    *,
    n: int = 30,
    kind: str = "disjoint",
    checks: int = 0,
    double: bool = False,
    **options: Any,
) -> tuple[Any, Fitted]:
    """Train a new student on n texts (the last `checks` of them kept out) and return it with what happened.

    `double`: in float64, where cutting a batch differently changes nothing that Adam could blow up.
    """
    student, words = new_student(encoder, kind)
    if double:
        student.double()
    method = spec if isinstance(spec, Method) else create(spec)
    rows = rows_of(kind, n, seed=3)
    texts = load_texts(tiny.texts(n, seed=8))
    assert len(texts) == n
    dataset = tokenize(texts, words, 32)
    held_out = dataset.select(range(n - checks, n)) if checks else None
    fitted = train(
        student,
        words,
        method,
        context_of(method, rows, space_of(kind)),
        Pool(rows),
        dataset.select(range(n - checks)),
        held_out,
        TrainingOptions(**(PLAIN | options)),
        folder,
    )
    return student, fitted


def logged(fitted: Fitted, key: str) -> list[float]:
    return [entry[key] for entry in fitted.history if key in entry]
