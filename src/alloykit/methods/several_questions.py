"""The loss of a student that answers several questions: the sum of the losses of the questions, each by a method of its own.

    L(x) = Σ_q L_q(s_q(x)),   s_q(x) the part of the student's logits that belongs to question q

Every question counts the same. It is no method of a recipe: `questions:` makes it of the methods of its questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from alloykit.errors import AlloyError
from alloykit.methods.hooks import Hooks
from alloykit.methods.protocol import (
    Context,
    LossInputs,
    Method,
    MethodOptions,
    Needs,
    Phase,
    StudentOutput,
    Supervision,
)
from alloykit.methods.requirements import supervised
from alloykit.outputs import Rows


@dataclass(frozen=True)
class QuestionMethod:
    """One question's name, its method, and the method's context after its fit."""

    name: str
    method: Method
    context: Context

    @property
    def labels(self) -> int:
        return self.context.space.size


class SeveralQuestions(Method):
    """Sums the losses of several questions. `rows.questions` has the teachers' outputs of each question."""

    name = "questions"
    title = "Several questions, each with a method of its own"
    reference = "alloykit"
    single_target = False

    def __init__(self, questions: Sequence[QuestionMethod]) -> None:
        super().__init__(MethodOptions())
        self.questions = tuple(questions)

    @property
    def needs(self) -> Needs:
        return Needs(teachers=0)

    @property
    def batch_coupled(self) -> bool:
        return any(question.method.batch_coupled for question in self.questions)

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        return None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        terms: dict[str, Tensor] = {}
        parts = self._parts(inputs.student.logits)
        for i, (question, logits, rows) in enumerate(zip(self.questions, parts, inputs.rows.questions, strict=True)):
            with torch.no_grad():
                supervision = supervised(question.method, rows, question.context, len(logits))
            own = question.method.loss(
                replace(
                    inputs,
                    student=StudentOutput(logits, inputs.student.attention_mask),
                    rows=rows,
                    supervision=supervision,
                    modules=nn.ModuleDict(),
                    context=question.context,
                    eval_logits=lambda i=i: self._parts(inputs.eval_logits())[i],  # type: ignore[misc]
                )
            )
            terms |= {f"{question.name}.{name}": term for name, term in own.items()}
        return terms

    def correct(self, logits: Tensor, rows: Rows) -> Tensor:
        """The share of the questions that the student answers correctly, [B]."""
        found = [
            question.method.correct(part, own)
            for question, part, own in zip(self.questions, self._parts(logits), rows.questions, strict=True)
        ]
        return torch.stack(found).mean(0)

    def _parts(self, logits: Tensor) -> tuple[Tensor, ...]:
        return torch.split(logits, [question.labels for question in self.questions], dim=-1)


def require_supervision_only(method: Method) -> None:
    """AlloyError for a method that needs more than the teachers' answers to train one of several questions."""
    needs = method.needs
    if not method.phases():
        why = "it has no student"
    elif needs.phase_data:
        why = "it makes its own examples"
    elif needs.generated_texts:
        why = "it needs texts that were generated for each teacher"
    elif needs.token_states or needs.attention_scores or needs.student_hidden_states or needs.student_attention_scores:
        why = "it compares the layers of teachers and student"
    elif type(method).modules is not Hooks.modules:
        why = "it trains parameters of its own beside the student"
    elif type(method).after_step is not Hooks.after_step:
        why = "it learns after each step"
    elif needs.validation:
        why = "it learns from validation texts"
    elif tuple(method.phases()) != (Phase(),):
        why = "it trains in several phases"
    else:
        return
    raise AlloyError(
        expected="a method whose loss reads only the student's answers, in one phase of training, for one of several questions",
        got=f"'{method.name}': {why}",
        hint="Take alloy, muka or uhc; or train this question in a run of its own.",
    )
