"""Each teacher alone: what its owner has today."""

from __future__ import annotations

from alloykit.errors import AlloyError
from alloykit.methods.base import Context, Method, MethodOptions, Phase, Supervision, uniform_weights
from alloykit.rows import Rows


class TeacherOptions(MethodOptions):
    which: int = 0
    """Position of the teacher in the recipe's list, from 0."""


class TeacherAlone(Method):
    """argmax Pad_i(p_i): the labels that the teacher does not know get zero (MUKA §4.1, "Original Teacher")."""

    name = "teacher"
    title = "One teacher alone (no student)"
    reference = "Li et al. 2021, §4.1"
    Options = TeacherOptions
    options: TeacherOptions

    def phases(self) -> tuple[Phase, ...]:
        return ()

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        i = self.options.which
        if not 0 <= i < len(rows.teachers):
            raise AlloyError(
                expected=f"`which` from 0 to {len(rows.teachers) - 1}",
                got=str(i),
                hint="It counts the recipe's teachers from 0.",
            )
        targets = context.space.scatter(i, rows.teachers[i].probabilities())
        return Supervision(targets, uniform_weights(targets))
