"""Two teachers of one task, five texts, and a student, for the oracles; and the plain sums they share."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, ModelShape, Phase, StudentOutput
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows

LABELS, B, L, H, DEPTH = ("a", "b", "c"), 5, 4, 2, 2
ORDERS = (LABELS, ("b", "c", "a"))  # of each teacher's labels: the same names, but the logits are in another order
WIDTHS, DEPTHS = (8, 6), (4, 3)
OWN = 8


class Pool:
    def __init__(self, rows: Rows) -> None:
        self.everything = rows

    def __len__(self) -> int:
        return B

    def rows(self, indices: Any) -> Rows:
        assert list(indices) == list(range(B))
        return self.everything


def five_texts() -> Rows:
    g = torch.Generator().manual_seed(6)  # two labels of the first teacher are right, one of the second
    teachers = []
    for width in WIDTHS:
        mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]).bool()
        states = tuple(torch.randn(B, L, width, generator=g) for _ in range(DEPTH + 1))
        scores = tuple(torch.randn(B, H, L, L, generator=g) for _ in range(DEPTH))
        teachers.append(
            TeacherRows(2 * torch.randn(B, 3, generator=g), pooled_states=(torch.randn(B, width, generator=g).half(),),
                        token_states=states, token_mask=mask, attention_scores=scores)
        )  # fmt: skip
    return Rows(tuple(teachers), torch.tensor([0, 1, 2, 1, 0]))


def context(rows: Rows) -> Context:
    space = LabelSpace.union(ORDERS)
    shapes = tuple(ModelShape(w, d) for w, d in zip(WIDTHS, DEPTHS, strict=True))
    return Context(space, student=ModelShape(OWN, DEPTH), teachers=shapes, validation=Pool(rows))


def student() -> StudentOutput:
    g = torch.Generator().manual_seed(1)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    hidden = tuple(torch.randn(B, L, OWN, generator=g) for _ in range(DEPTH + 1))
    scores = tuple(torch.randn(B, H, L, L, generator=g) for _ in range(DEPTH))
    return StudentOutput(torch.randn(B, 3, generator=g), mask, hidden, scores)


def inputs(rows: Rows, phase: str = "train", **spec: Any) -> tuple[Any, LossInputs]:
    method = create(spec)
    bare = context(rows)
    asked = [len(layers) for layers in method.teacher_layers(bare)]
    teachers = tuple(
        replace(t, token_states=t.token_states[:n] if t.token_states else None)
        for t, n in zip(rows.teachers, asked, strict=True)
    )
    rows = replace(rows, teachers=teachers)
    whole = replace(bare, state=dict(method.fit(Pool(rows), bare)))
    torch.manual_seed(3)
    modules = method.modules(whole)
    return method, LossInputs(student(), rows, method.supervise(rows, whole), modules, whole, Phase(phase))


def softmax(z: Any, t: float = 1.0) -> list[float]:
    z = [float(x) / t for x in z]
    top = max(z)
    e = [math.exp(x - top) for x in z]
    return [x / sum(e) for x in e]


def answer(rows: Rows, k: int, x: int, t: float = 1.0) -> list[float]:
    """Teacher k's probabilities of `LABELS` for text x, softened by t."""
    own = softmax(rows.teachers[k].logits[x], t)
    return [own[ORDERS[k].index(name)] for name in LABELS]


def soft_ce(target: list[float], logits: Any, t: float = 1.0) -> float:
    return -sum(p * math.log(q) for p, q in zip(target, softmax(logits, t), strict=True))


def teacher_ce(rows: Rows, k: int, x: int) -> float:
    return -math.log(answer(rows, k, x)[int(rows.labels[x])])


def close(found: torch.Tensor, wanted: list[float]) -> None:
    torch.testing.assert_close(found.double(), torch.tensor(wanted, dtype=torch.float64), rtol=1e-5, atol=1e-6)


def real(rows: Rows, k: int, x: int) -> list[int]:
    mask = rows.teachers[k].token_mask
    assert mask is not None
    return [t for t in range(L) if mask[x, t]]
