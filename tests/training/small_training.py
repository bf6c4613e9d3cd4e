"""One training run on random knowledge in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tiny
import torch
from random_rows import TEACHERS, Pool, context_of, rows_of, space_of

from alloykit.data import load_texts
from alloykit.knowledge.store.with_labelled import WithLabelled
from alloykit.methods.protocol import Context, Method, ModelShape
from alloykit.methods.registry import create
from alloykit.models.attention import use_eager_attention
from alloykit.outputs import Rows, Source
from alloykit.testing.rows import take
from alloykit.training.dataset import Collator, Tokens, tokenize
from alloykit.training.student import build_student
from alloykit.training.trainer import TrainingResult, train
from alloykit.training.training_options import StudentSpec, TrainingOptions

PLAIN = {
    "epochs": 2, "learning_rate": 1e-3, "max_length": 32, "warmup": 0.0, "scheduler": "constant",
    "max_grad_norm": 1e6, "select": "last", "held_out": 0.0, "precision": "float32",
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
    labelled: int = 0,
    double: bool = False,
    wrap: Callable[[Source, Context], Source] | None = None,
    **options: Any,
) -> tuple[Any, TrainingResult]:
    """Train a new student on n texts and return it with what happened. The last `labelled` of them have given labels, and the last
    `checks` before these are kept out.

    `double`: in float64, where cutting a batch differently changes nothing that Adam could blow up. `wrap`: gives the source to train on.
    """
    student, words = new_student(encoder, kind)
    if double:
        student.double()
    method = spec if isinstance(spec, Method) else create(spec)
    rows = rows_of(kind, n, seed=3)
    texts = load_texts(tiny.texts(n, seed=8))
    assert len(texts) == n
    dataset = tokenize(texts, words, 32)
    shape = ModelShape(student.config.hidden_size, student.config.num_hidden_layers)
    pool = n - labelled
    held_out = dataset.select(range(pool - checks, pool)) if checks else None
    # `pkd` compares states as they are: its teachers are as wide as the student.
    teachers = tuple(replace(t, hidden_size=shape.hidden_size) if method.name == "pkd" else t for t in TEACHERS)
    context = replace(context_of(method, rows, space_of(kind), teachers), student=shape)
    layers = [len(asked) for asked in method.teacher_layers(context)]
    if method.needs.student_attention_scores:
        use_eager_attention(student)
    source: Source = Living(rows, dataset, layers, teachers, double) if method.needs.token_states else Pool(rows)
    if labelled:
        given = torch.arange(labelled) % context.space.size
        source = WithLabelled(Pool(take(rows, [*range(pool)])), Pool(take(rows, [*range(pool, n)])), given)
    if wrap is not None:
        source = wrap(source, context)
    fitted = train(
        student,
        Collator(words, source),
        method,
        context,
        dataset.select([*range(pool - checks), *range(pool, n)]),
        held_out,
        TrainingOptions(**(PLAIN | options)),
        folder,
    )
    return student, fitted


class Living(Pool):
    """Random token states, and attention scores, of every teacher for as many tokens as the student's batch has."""

    def __init__(
        self, everything: Rows, dataset: Tokens, layers: list[int], teachers: tuple[ModelShape, ...], double: bool
    ) -> None:
        super().__init__(everything)
        g = torch.Generator().manual_seed(9)
        self.lengths = torch.from_numpy(dataset.lengths[np.arange(len(dataset))])
        shape = (len(dataset), int(self.lengths.max()))
        self.states = [
            [torch.randn(*shape, t.hidden_size, generator=g) for _ in range(n)]
            for t, n in zip(teachers, layers, strict=True)
        ]
        across = (len(dataset), 4, shape[1], shape[1])
        self.scores = [[torch.randn(*across, generator=g) for _ in range(max(0, n - 1))] for n in layers]
        if double:
            self.states = [[s.double() for s in states] for states in self.states]
            self.scores = [[s.double() for s in scores] for scores in self.scores]

    def rows(self, indices: Any) -> Rows:
        at = torch.as_tensor(list(indices))
        longest = int(self.lengths[at].max())
        mask = torch.arange(longest) < self.lengths[at, None]
        known = super().rows(indices)
        teachers = tuple(
            replace(
                t,
                token_states=tuple(s[at, :longest] for s in states),
                token_mask=mask,
                attention_scores=tuple(s[at, :, :longest, :longest] for s in scores),
            )
            for t, states, scores in zip(known.teachers, self.states, self.scores, strict=True)
        )
        return replace(known, teachers=teachers)


def logged(fitted: TrainingResult, key: str) -> list[float]:
    return [entry[key] for entry in fitted.history if key in entry]
