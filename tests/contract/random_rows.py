"""Random knowledge of three teachers, in memory, and the methods that the contract is tried on."""

from __future__ import annotations

from typing import Any

import torch

from alloykit.labels import LabelSpace
from alloykit.methods.base import Context, Lesson, Method, Phase, Shape, StudentOutput
from alloykit.methods.registry import create, methods
from alloykit.rows import Rows, TeacherRows

SETS = {
    "disjoint": (("a", "b", "c"), ("d", "e"), ("f", "g", "h", "i", "j")),
    "overlapping": (("a", "b", "c"), ("c", "d"), ("e", "f", "g", "h", "i")),
}
TOKENS = 4
STUDENT = Shape(hidden_size=8, layers=2)
TEACHERS = (Shape(12, 3), Shape(8, 4), Shape(16, 2))

MUKA: list[dict[str, Any]] = [
    {"mode": "hard"},
    {"passes": 0},
    {"probabilities": "averaged"},
    {"reweight": False},
    {"confidence": "percentile"},
    {"confidence": "mixture", "mode": "hard"},
    {"normalise": "batch"},
    {"normalise": "group"},
    {"normalise": "group", "confidence": "percentile", "mode": "hard"},
    {"normalise": "batch", "weight_floor": 0.0},
    {"normalise": "group", "weight_floor": 0.0},
    {"distillation_temperature": 2.0},
    {"direction": "reverse", "smoothing": 0.01},
    {"direction": "reverse", "smoothing": 0.01, "mode": "hard"},
]
SPECS: list[dict[str, Any]] = [
    *({"name": name} for name in methods()),  # a method that is new in the registry is tried at once
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
]


class Pool:
    """A Source: all texts of some rows."""

    def __init__(self, everything: Rows) -> None:
        self.everything = everything

    def __len__(self) -> int:
        return len(self.everything.teachers[0].logits)

    def rows(self, indices: Any) -> Rows:
        return take(self.everything, list(indices))


def take(rows: Rows, at: list[int]) -> Rows:
    index = torch.tensor(at)

    def some(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(v[index] for v in value)
        return None if value is None else value[index]

    teachers = tuple(TeacherRows(*(some(v) for v in vars(t).values())) for t in rows.teachers)
    return Rows(teachers, None if rows.labels is None else rows.labels[index])


def space_of(kind: str) -> LabelSpace:
    return LabelSpace.union(SETS[kind])


def rows_of(kind: str, b: int = 12, seed: int = 0, loudness: float = 2.0, passes: int = 16) -> Rows:
    """Teachers that answer at random; at a large `loudness` every softmax is one-hot in float32."""
    g = torch.Generator().manual_seed(seed)
    teachers = []
    states = torch.Generator().manual_seed(seed + 1000)
    for labels, shape in zip(SETS[kind], TEACHERS, strict=True):
        logits = torch.randn(b, len(labels), generator=g)
        if loudness > 20:  # exactly ± loudness, one winner per text
            logits = torch.full_like(logits, -1.0).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
        noise = torch.randn(passes, b, len(labels), generator=g)
        sampled = torch.softmax(loudness * logits + noise, -1)
        pooled = (torch.randn(b, shape.hidden_size, generator=states).half(),)
        tokens = tuple(torch.randn(b, TOKENS, shape.hidden_size, generator=states) for _ in range(STUDENT.layers))
        mask = torch.rand(b, TOKENS, generator=states) > 0.3
        said = (loudness * logits, sampled.sum(0), torch.full((b,), passes), None)
        teachers.append(TeacherRows(*said, pooled, tokens, mask))
    return Rows(tuple(teachers), torch.randint(space_of(kind).size, (b,), generator=g))


def context_of(method: Method, rows: Rows, space: LabelSpace) -> Context:
    bare = Context(space, student=STUDENT, teachers=TEACHERS)
    return Context(space, dict(method.fit(Pool(rows), bare)), STUDENT, TEACHERS)


def made(spec: dict[str, Any], kind: str, b: int = 12, **draw: Any) -> tuple[Method, Rows, Context]:
    """The method, rows of b texts, and a context fitted on a pool of at least twelve that has them in front."""
    method, pool = create(spec), rows_of(kind, max(b, 12), **draw)
    return method, take(pool, list(range(b))), context_of(method, pool, space_of(kind))


def student_logits(rows: Rows, context: Context, seed: int = 1, scale: float = 2.0) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return scale * torch.randn(len(rows.teachers[0].logits), context.space.size, generator=g)


def losses(method: Method, rows: Rows, context: Context, logits: torch.Tensor) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)  # the same modules at every call
    modules = method.modules(context).to(logits.dtype)
    student = student_output(logits)
    return method.loss(Lesson(student, rows, method.supervise(rows, context), modules, context, Phase()))


def student_output(logits: torch.Tensor) -> StudentOutput:
    """Hidden states that depend on a text's own logits, whatever the order of the classes."""
    g = torch.Generator().manual_seed(5)
    own = torch.stack([logits.sum(-1), logits.square().sum(-1)], -1)
    mix = [torch.randn(2, TOKENS * STUDENT.hidden_size, generator=g).to(logits) for _ in range(STUDENT.layers + 1)]
    hidden = tuple(torch.tanh(0.1 * own @ m).view(len(logits), TOKENS, STUDENT.hidden_size) for m in mix)
    mask = torch.ones(len(logits), TOKENS, dtype=torch.long)
    mask[:, -1] = 0
    return StudentOutput(logits, mask, hidden)
