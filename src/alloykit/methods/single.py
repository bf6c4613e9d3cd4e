"""What methods with one teacher share: which one it is, its answers and its states at some layers."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Supervision, uniform_weights
from alloykit.outputs import Rows


class SingleTeacherOptions(MethodOptions):
    which: int = Field(0, ge=0)
    """Position of the teacher in the recipe's list, from 0."""


class SingleTeacher(Method):
    """A method that learns from one teacher. Subclasses name the layers that they compare, have an option `temperature`, and define the loss."""

    options: SingleTeacherOptions
    one_task = True
    softened_by = "temperature"

    def layers(self, student: int, teacher: int) -> tuple[int, ...]:
        """The teacher's layers that are compared, of so many."""
        return ()

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        which, depth = self.options.which, context.student_shape.layers
        return tuple(self.layers(depth, t.layers) if k == which else () for k, t in enumerate(context.teachers))

    def teachers_answer(self, rows: Rows, context: Context, temperature: float) -> Supervision:
        """softmax(z / T) at the teacher's labels."""
        which = self.options.which
        targets = context.space.scatter(which, rows.teachers[which].probabilities(temperature))
        answered = rows.teachers[which].counts
        return Supervision(targets, uniform_weights(targets) if answered is None else answered.float())

    def states(self, inputs: LossInputs) -> tuple[tuple[Tensor, ...], Tensor]:
        """The teacher's states at `layers`, [B, L, d] each in the blocks' precision, and which tokens have one, [B, L]."""
        teacher = inputs.rows.teachers[self.options.which]
        if teacher.token_states is None or teacher.token_mask is None:
            raise TypeError(f"{self.name} needs the teacher's token states")
        dtype = next((p.dtype for p in inputs.modules.parameters()), torch.float32)
        if inputs.student.logits.dtype == torch.float64:
            dtype = torch.float64
        return tuple(s.to(dtype) for s in teacher.token_states), teacher.token_mask.to(dtype)

    def hidden(self, inputs: LossInputs) -> tuple[Tensor, ...]:
        """The student's states from the embeddings on."""
        if inputs.student.hidden_states is None:
            raise TypeError(f"{self.name} needs the student's hidden states")
        return inputs.student.hidden_states
