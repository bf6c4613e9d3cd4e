"""Alloy's options."""

from __future__ import annotations

from pydantic import Field

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import MethodOptions

STUDENT_ENCODER = "student"


class AlloyOptions(MethodOptions):
    encoder: str | None = STUDENT_ENCODER
    """The neutral encoder, whose states of each text are used beside the teachers': `student` is the student's own pretrained encoder, before
    any training; or a model folder or hub id; null: the teachers' states alone."""
    dimensions: int = Field(128, gt=0)
    """D: principal components of the states; at most one for every four texts of the fit."""
    texts_per_label: int = Field(5, gt=0)
    """The fit needs so many texts for every label of the union."""
    min_texts: int = Field(100, gt=0)
    """The fit needs at least so many texts in all."""

    def least_texts(self, space: LabelSpace) -> int:
        """How many texts a fit needs."""
        return max(self.min_texts, self.texts_per_label * space.size)
