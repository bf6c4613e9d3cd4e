"""The teacher layer that each student layer is compared with."""

from __future__ import annotations

import math


def uniform(student: int, teacher: int) -> tuple[int, ...]:
    """⌈l L_t / L_s⌉ for l = 1..L_s, also for a teacher shallower than the student (1 is the first above the embeddings)."""
    return tuple(math.ceil(layer * teacher / student) for layer in range(1, student + 1))
