"""Alloy's options."""

from __future__ import annotations

from pydantic import Field

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import MethodOptions

STUDENT_ENCODER = "student"


class AlloyOptions(MethodOptions):
    encoder: str | None = STUDENT_ENCODER
    """The neutral encoder. The fit uses its states of each text beside the teachers' states. `student`: the student's own pretrained encoder,
    before any training. Or a model folder or hub id. null: only the teachers' states."""
    dimensions: int = Field(128, gt=0)
    """D: the number of principal components of the states. There is at most one for every four texts of the fit."""
    texts_per_label: int = Field(5, gt=0)
    """The fit needs at least so many texts per label of the union, on average."""
    min_texts: int = Field(100, gt=0)
    """The fit needs at least so many texts in all."""

    background: bool | None = None
    """Whether texts can belong to no label. Such texts hardly count in the fit and in the student's training. null: the fit decides (Eq. 20)."""

    own_labels: float = Field(0.5, ge=0)
    """λ: the weight of what every teacher says of its own labels, on every text (Eqs. 23, 24). 0: the student learns from the target alone."""

    def least_texts(self, space: LabelSpace) -> int:
        """How many texts a fit needs."""
        return max(self.min_texts, self.texts_per_label * space.size)
