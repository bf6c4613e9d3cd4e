"""Random outputs of three teachers, and of a student, in memory: the inputs with which `check_method` tests a method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, Method, ModelShape, Phase, StudentOutput
from alloykit.methods.requirements import supervised
from alloykit.outputs import Rows, TeacherRows

SETS = {
    "disjoint": (("a", "b", "c"), ("d", "e"), ("f", "g", "h", "i", "j")),
    "overlapping": (("a", "b", "c"), ("c", "d"), ("e", "f", "g", "h", "i")),
}
"""The teachers' labels, by kind of label sets."""
TOKENS, HEADS = 4, 2
STUDENT = ModelShape(hidden_size=8, layers=2)
TEACHERS = (ModelShape(12, 3), ModelShape(8, 4), ModelShape(16, 2))
CERTAIN_SCALE = 20.0  # from this scale of the logits on, every softmax is one-hot in float32


class RowSource:
    """A `Source` of rows in memory. Index k is text k."""

    def __init__(self, all_rows: Rows) -> None:
        self.all_rows = all_rows

    def __len__(self) -> int:
        return len(self.all_rows.teachers[0].logits)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        return take(self.all_rows, [int(i) for i in indices])


def take(rows: Rows, at: list[int]) -> Rows:
    """The rows of some texts, in this order."""
    index = torch.tensor(at)

    def select(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(v[index] for v in value)
        return None if value is None else value[index]

    teachers = tuple(TeacherRows(**{k: select(v) for k, v in vars(t).items()}) for t in rows.teachers)
    return Rows(teachers, select(rows.labels), select(rows.text_states))


def unanswered(rows: Rows, answered: Tensor) -> Rows:
    """The same rows where teachers have no answer to some texts: their logits are uniform there. answered [B, N] bool."""
    teachers = []
    for i, t in enumerate(rows.teachers):
        has_answer = answered[:, i]
        uniform = torch.full_like(t.logits, -math.log(t.logits.shape[-1]))
        teachers.append(
            replace(t, logits=torch.where(has_answer.unsqueeze(-1), t.logits, uniform), answered=has_answer)
        )
    return replace(rows, teachers=tuple(teachers))


def abstaining(rows: Rows, answers: Tensor) -> Rows:
    """The same rows where teachers leave some texts to the others. answers [B, N] bool: the answers that count."""
    return replace(rows, teachers=tuple(replace(t, abstains=~answers[:, i]) for i, t in enumerate(rows.teachers)))


def space_of(kind: str) -> LabelSpace:
    """The union of the labels of `SETS[kind]`."""
    return LabelSpace.union(SETS[kind])


def random_rows(kind: str, b: int = 12, seed: int = 0, logit_scale: float = 2.0, passes: int = 16) -> Rows:
    """Random values of everything that a method can need of b texts. `logit_scale` multiplies the logits."""
    g = torch.Generator().manual_seed(seed)
    teachers = []
    states = torch.Generator().manual_seed(seed + 1000)
    for labels, shape in zip(SETS[kind], TEACHERS, strict=True):
        logits = torch.randn(b, len(labels), generator=g)
        if logit_scale > CERTAIN_SCALE:  # exactly ± logit_scale, one winner per text
            logits = torch.full_like(logits, -1.0).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
        noise = torch.randn(passes, b, len(labels), generator=g)
        sampled = torch.softmax(logit_scale * logits + noise, -1)
        pooled = tuple(torch.randn(b, shape.hidden_size, generator=states).half() for _ in range(shape.layers))
        tokens = tuple(torch.randn(b, TOKENS, shape.hidden_size, generator=states) for _ in range(STUDENT.layers + 1))
        mask = torch.rand(b, TOKENS, generator=states) > 0.3
        scores = tuple(torch.randn(b, HEADS, TOKENS, TOKENS, generator=states) for _ in range(STUDENT.layers))
        outputs = (logit_scale * logits, sampled.sum(0), torch.full((b,), passes))
        teachers.append(TeacherRows(*outputs, pooled, tokens, mask, scores))
    text_states = torch.randn(b, 6, generator=states).half()
    return Rows(tuple(teachers), torch.randint(space_of(kind).size, (b,), generator=g), text_states)


def restrict_to_needs(
    method: Method, rows: Rows, space: LabelSpace, teachers: tuple[ModelShape, ...] = TEACHERS
) -> Rows:
    """The same rows with only what the method's `needs` and `teacher_layers` ask for, and the labels."""
    needs = method.needs
    layers = method.teacher_layers(Context(space, student=STUDENT, teachers=teachers))
    teacher_rows = []
    for outputs, wanted in zip(rows.teachers, layers, strict=True):
        drop: dict[str, Any] = {} if needs.passes else {"probability_sum": None, "passes": None}
        pooled, tokens, scores = outputs.pooled_states, outputs.token_states, outputs.attention_scores
        drop["pooled_states"] = pooled[: len(wanted)] if needs.pooled_states and pooled else None
        drop["token_states"] = tokens[: len(wanted)] if needs.token_states and tokens else None
        drop["token_mask"] = outputs.token_mask if needs.token_states or needs.attention_scores else None
        drop["attention_scores"] = scores if needs.attention_scores else None
        teacher_rows.append(replace(outputs, **drop))
    return replace(rows, teachers=tuple(teacher_rows), text_states=rows.text_states if needs.text_states else None)


def generated_rows(kind: str) -> Rows:
    """Enough labelled texts with a known source teacher for any method."""
    return random_rows(kind, 400, seed=77)


def context_of(
    method: Method,
    rows: Rows,
    space: LabelSpace,
    teachers: tuple[ModelShape, ...] = TEACHERS,
    generated: Rows | None = None,
) -> Context:
    """A context whose state the method fitted to these rows."""
    unfitted = unfitted_context(method, rows, space, teachers, generated)
    return Context(
        space, state=dict(method.fit(RowSource(rows), unfitted)), student=unfitted.student, teachers=unfitted.teachers
    )


def unfitted_context(
    method: Method,
    rows: Rows,
    space: LabelSpace,
    teachers: tuple[ModelShape, ...] = TEACHERS,
    generated: Rows | None = None,
) -> Context:
    """The context for `fit`: with the sources that the method needs, without state."""
    needs = method.needs
    if needs.generated_texts and generated is None:
        kind = next(kind for kind, sets in SETS.items() if LabelSpace.union(sets).names == space.names)
        generated = restrict_to_needs(method, generated_rows(kind), space, teachers)
    return Context(
        space,
        student=STUDENT,
        teachers=teachers,
        validation=RowSource(rows) if needs.validation else None,
        generated=None if generated is None or not needs.generated_texts else RowSource(generated),
    )


def student_logits(rows: Rows, context: Context, seed: int = 1, scale: float = 2.0) -> Tensor:
    """Random logits, [B, C]."""
    g = torch.Generator().manual_seed(seed)
    return scale * torch.randn(len(rows.teachers[0].logits), context.space.size, generator=g)


def losses(method: Method, rows: Rows, context: Context, logits: Tensor, training: bool = True) -> dict[str, Tensor]:
    """The loss terms for a student with these logits, in the first phase. The modules are the same at every call."""
    with torch.random.fork_rng(devices=[]):
        # `torch.manual_seed` seeds GPUs too, and is slow where there is none.
        torch.default_generator.manual_seed(0)
        modules = method.modules(context).to(logits.dtype)
        inputs = LossInputs(
            student_output(method, logits),
            rows,
            supervised(method, rows, context, len(logits)),
            modules,
            context,
            (*method.phases(), Phase())[0],
            logits.detach,
            training,
        )
        return method.loss(inputs)


def student_output(method: Method, logits: Tensor) -> StudentOutput:
    """The student's outputs that the method needs. States depend on the text's logits, but not on the order of the classes."""
    g = torch.Generator().manual_seed(5)
    summary = torch.stack([logits.sum(-1), logits.square().sum(-1)], -1)
    mix = [torch.randn(2, TOKENS * STUDENT.hidden_size, generator=g).to(logits) for _ in range(STUDENT.layers + 1)]
    hidden = tuple(torch.tanh(0.1 * summary @ m).view(len(logits), TOKENS, STUDENT.hidden_size) for m in mix)
    mask = torch.ones(len(logits), TOKENS, dtype=torch.long)
    mask[:, -1] = 0
    paired = [torch.randn(2, HEADS * TOKENS * TOKENS, generator=g).to(logits) for _ in range(STUDENT.layers)]
    scores = tuple(torch.tanh(0.1 * summary @ m).view(len(logits), HEADS, TOKENS, TOKENS) for m in paired)
    needs = method.needs
    return StudentOutput(
        logits,
        mask,
        hidden if needs.student_hidden_states else None,
        scores if needs.student_attention_scores else None,
    )
