"""A single teacher without a student."""

from __future__ import annotations

from pydantic import Field

from alloykit.methods.protocol import Context, Method, MethodOptions, Needs, Phase, Supervision, uniform_weights
from alloykit.outputs import Rows


class TeacherOptions(MethodOptions):
    which: int = Field(0, ge=0)
    """Position of the teacher in the recipe's list, from 0."""


class TeacherAlone(Method):
    """argmax Pad_i(p_i): the labels that the teacher does not know get zero (MUKA §4.1, "Original Teacher")."""

    name = "teacher"
    title = "One teacher alone (no student)"
    reference = "Li et al. 2021, §4.1"
    Options = TeacherOptions
    options: TeacherOptions

    @property
    def needs(self) -> Needs:
        return Needs(teachers=self.options.which + 1)

    def phases(self) -> tuple[Phase, ...]:
        return ()

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        i = self.options.which
        targets = context.space.scatter(i, rows.teachers[i].probabilities())
        answered = rows.teachers[i].counts
        return Supervision(targets, uniform_weights(targets) if answered is None else answered.float())
