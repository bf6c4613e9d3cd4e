"""What a method is. This file is the shallow end: all that most methods need. `hooks.py` is the deep end, `inputs.py` the data of both."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from alloykit.losses.kl import kl
from alloykit.methods.hooks import Hooks
from alloykit.methods.inputs import (
    Context,
    EstimatedAccuracy,
    Gives,
    LoadedTeacher,
    LossInputs,
    MethodOptions,
    ModelShape,
    Needs,
    Phase,
    PhaseData,
    SkippedStep,
    State,
    Step,
    StudentOutput,
    Supervision,
    TextStates,
    uniform_weights,
)
from alloykit.outputs import Rows

__all__ = [
    "Context",
    "EstimatedAccuracy",
    "Gives",
    "LoadedTeacher",
    "LossInputs",
    "Method",
    "MethodOptions",
    "ModelShape",
    "Needs",
    "Phase",
    "PhaseData",
    "SkippedStep",
    "State",
    "Step",
    "StudentOutput",
    "Supervision",
    "TextStates",
    "uniform_weights",
]


class Method(Hooks):
    """Turns the teachers' outputs into what the student learns. A subclass sets the names below and defines `supervise`."""

    name: ClassVar[str]  # as in `method: NAME` of a recipe
    title: ClassVar[str]  # what it is, in a few words
    reference: ClassVar[str]  # author and year
    citation: ClassVar[str] = ""  # the whole reference, for model cards
    Options: ClassVar[type[MethodOptions]] = MethodOptions
    options: MethodOptions  # an instance of Options
    inner: Method | None  # the method named in `of`, for a method that wraps one

    @property
    def needs(self) -> Needs:
        """What the method asks of teachers, texts and student. The default: the logits of at least one teacher."""
        return Needs()

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        """The target of each of B texts over the union of labels; None where there is no single one (then set `single_target = False`)."""
        raise NotImplementedError

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        """Named terms, each per text, [B]. Training minimises the mean over texts of their sum. The default: weights · KL(targets ‖ student).

        A `SkippedStep` holds terms that are logged only: the student does not learn from this step.
        """
        return {"kl": inputs.target.weights * kl(inputs.target.targets, inputs.student.logits)}

    def as_classifier(self) -> Method | None:
        """The method whose target is the teachers' answer to a new text; None if the target needs a true label.

        It does not soften the teachers' outputs: a student that learned from softened ones answers without a temperature too."""
        if not self.single_target or not self.needs.teachers or self.target_reads_labels:
            return None
        if self.softened_by is None:
            return self
        return type(self)(self.options.model_copy(update={self.softened_by: 1.0}), self.inner)
