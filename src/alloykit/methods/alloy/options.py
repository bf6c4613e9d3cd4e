"""Alloy's options."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import MethodOptions


class AlloyOptions(MethodOptions):
    confidence: Literal["entropy", "percentile", "mixture", "density"] = "entropy"
    """From what the fit starts, and what is used where the fit is not accepted: MUKA's option of this name, without Monte-Carlo passes."""
    dimensions: int = Field(32, gt=0)
    """D: principal components of the teachers' states; fewer where there are less than eight texts for each."""
    texts_per_label: int = Field(20, gt=0)
    """The fit needs so many texts for every label of the union. It is not accepted where a teacher ends with less than a quarter of them."""
    min_texts: int = Field(300, gt=0)
    """The fit needs at least so many texts in all."""

    def least_texts(self, space: LabelSpace) -> int:
        """How many texts a fit needs."""
        return max(self.min_texts, self.texts_per_label * space.size)
