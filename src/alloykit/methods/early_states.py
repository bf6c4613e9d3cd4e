"""Early states of the teachers: the layers in which texts of different teachers are separable (ours).

Fine-tuning specialises the last layers on a teacher's own labels, so that any text looks like one of them there. The embeddings and the
layers of the first two thirds still carry what a text is about.
"""

from __future__ import annotations

from torch import Tensor

from alloykit.outputs import TeacherRows

MAX_TEXTS = 4096  # texts that a fit on early states reads at most


def early_layers(layers: int) -> tuple[int, ...]:
    """The embeddings, and the layers at one and at two thirds of the depth."""
    return tuple(sorted({0, round(layers / 3), round(2 * layers / 3)}))


def early_states(teacher: TeacherRows) -> list[Tensor]:
    """One teacher's pooled states of these layers, [B, d_i] float64 each. TypeError where there are none."""
    if teacher.pooled_states is None:
        raise TypeError("this needs the teachers' pooled states")
    return [s.double() for s in teacher.pooled_states]
