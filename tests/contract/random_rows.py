"""Random knowledge of three teachers, in memory, and the methods that the contract is tried on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, Method, ModelShape, Phase, StudentOutput
from alloykit.methods.registry import create, methods
from alloykit.outputs import Rows, TeacherRows

SETS = {
    "disjoint": (("a", "b", "c"), ("d", "e"), ("f", "g", "h", "i", "j")),
    "overlapping": (("a", "b", "c"), ("c", "d"), ("e", "f", "g", "h", "i")),
}
TOKENS, HEADS = 4, 2
STUDENT = ModelShape(hidden_size=8, layers=2)
TEACHERS = (ModelShape(12, 3), ModelShape(8, 4), ModelShape(16, 2))

MUKA: list[dict[str, Any]] = [
    {"mode": "hard"},
    {"passes": 0},
    {"probabilities": "averaged"},
    {"reweight": False},
    {"confidence": "percentile"},
    {"confidence": "mixture", "mode": "hard"},
    {"confidence": "density"},
    {"confidence": "density", "mode": "hard", "passes": 0},
    {"normalise": "batch"},
    {"normalise": "group"},
    {"normalise": "group", "confidence": "percentile", "mode": "hard"},
    {"normalise": "batch", "weight_floor": 0.0},
    {"normalise": "group", "weight_floor": 0.0},
    {"distillation_temperature": 2.0},
    {"direction": "reverse", "smoothing": 0.01},
    {"direction": "reverse", "smoothing": 0.01, "mode": "hard"},
]
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
    {"name": "alloy", "texts_per_label": 1, "min_texts": 1},
    {"name": "alloy", "texts_per_label": 1, "min_texts": 1, "confidence": "percentile"},
    {"name": "alloy", "confidence": "density"},
    {"name": "kd", "which": 2, "alpha": 0.2, "temperature": 5.0},
    {"name": "w_ensemble", "weights": [1.0, 2.0, 0.0]},
    {"name": "mt_bert", "hidden": False, "weighted": False},
    {"name": "distilbert", "which": 1},
    {"name": "pkd", "which": 1, "patience": "last"},
    *({"name": "rl_kd", "pretrain_epochs": 0, "reward": f"reward{n}"} for n in (1, 2, 3)),
    {"name": "rl_kd", "pretrain_epochs": 0, "schedule": "algorithm2", "score": "paper", "baseline": False},
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

    teachers = tuple(TeacherRows(**{k: some(v) for k, v in vars(t).items()}) for t in rows.teachers)
    return Rows(teachers, some(rows.labels), some(rows.text_states))


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
        pooled = tuple(torch.randn(b, shape.hidden_size, generator=states).half() for _ in range(shape.layers))
        tokens = tuple(torch.randn(b, TOKENS, shape.hidden_size, generator=states) for _ in range(STUDENT.layers + 1))
        mask = torch.rand(b, TOKENS, generator=states) > 0.3
        scores = tuple(torch.randn(b, HEADS, TOKENS, TOKENS, generator=states) for _ in range(STUDENT.layers))
        said = (loudness * logits, sampled.sum(0), torch.full((b,), passes))
        teachers.append(TeacherRows(*said, pooled, tokens, mask, scores))
    seen = torch.randn(b, 6, generator=states).half()
    return Rows(tuple(teachers), torch.randint(space_of(kind).size, (b,), generator=g), seen)


def asked_for(method: Method, rows: Rows) -> Rows:
    """Only as many layers of each teacher as the method asks for."""
    layers = method.teacher_layers(Context(space_of("disjoint"), student=STUDENT, teachers=TEACHERS))
    teachers = []
    for said, wanted in zip(rows.teachers, layers, strict=True):
        tokens = said.token_states[: len(wanted)] if said.token_states else None
        pooled = said.pooled_states[: len(wanted)] if said.pooled_states else None
        teachers.append(replace(said, token_states=tokens, pooled_states=pooled))
    return replace(rows, teachers=tuple(teachers))


def own_rows(kind: str) -> Rows:
    """As many texts as the teachers' own need, with labels."""
    return rows_of(kind, 400, seed=77)


def context_of(
    method: Method, rows: Rows, space: LabelSpace, teachers: tuple[ModelShape, ...] = TEACHERS, own: Rows | None = None
) -> Context:
    if own is None:
        own = own_rows(next(kind for kind, sets in SETS.items() if LabelSpace.union(sets).names == space.names))
    bare = Context(space, student=STUDENT, teachers=teachers, validation=Pool(rows), generated=Pool(own))
    return replace(bare, state=dict(method.fit(Pool(rows), bare)))


def made(spec: dict[str, Any], kind: str, b: int = 12, **draw: Any) -> tuple[Method, Rows, Context]:
    """The method, rows of b texts, and a context fitted on a pool of at least twelve that has them in front."""
    method = create(spec)
    pool = asked_for(method, rows_of(kind, max(b, 12), **draw))
    return method, take(pool, list(range(b))), context_of(method, pool, space_of(kind))


def student_logits(rows: Rows, context: Context, seed: int = 1, scale: float = 2.0) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return scale * torch.randn(len(rows.teachers[0].logits), context.space.size, generator=g)


def losses(
    method: Method, rows: Rows, context: Context, logits: torch.Tensor, training: bool = True
) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)  # the same modules at every call
    modules = method.modules(context).to(logits.dtype)
    student, phase = student_output(logits), (*method.phases(), Phase())[0]
    inputs = LossInputs(
        student, rows, method.supervise(rows, context), modules, context, phase, logits.detach, training
    )
    return method.loss(inputs)


def student_output(logits: torch.Tensor) -> StudentOutput:
    """Hidden states that depend on a text's own logits, whatever the order of the classes."""
    g = torch.Generator().manual_seed(5)
    own = torch.stack([logits.sum(-1), logits.square().sum(-1)], -1)
    mix = [torch.randn(2, TOKENS * STUDENT.hidden_size, generator=g).to(logits) for _ in range(STUDENT.layers + 1)]
    hidden = tuple(torch.tanh(0.1 * own @ m).view(len(logits), TOKENS, STUDENT.hidden_size) for m in mix)
    mask = torch.ones(len(logits), TOKENS, dtype=torch.long)
    mask[:, -1] = 0
    paired = [torch.randn(2, HEADS * TOKENS * TOKENS, generator=g).to(logits) for _ in range(STUDENT.layers)]
    scores = tuple(torch.tanh(0.1 * own @ m).view(len(logits), HEADS, TOKENS, TOKENS) for m in paired)
    return StudentOutput(logits, mask, hidden, scores)
