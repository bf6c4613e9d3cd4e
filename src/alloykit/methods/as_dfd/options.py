"""The recipe's options of AS-DFD."""

from __future__ import annotations

from pydantic import Field

from alloykit.methods.protocol import MethodOptions


class AsDfdOptions(MethodOptions):
    rounds: int = Field(3, gt=0)
    """How often embeddings are crafted anew, with the student as it then is; `epochs` are those of each round."""
    per_class: int = Field(100, gt=0)
    """Pseudo-embeddings for each class of each teacher and round."""
    length: int = Field(24, gt=3)
    """Positions, [CLS] and [SEP] included."""
    steps: int = Field(30, gt=0)
    """Steps of Adam that move the embeddings."""
    step_size: float = Field(0.05, gt=0)
    """Adam's learning rate for the embeddings."""
    adversarial: float = Field(0.1, ge=0)
    """γ, how much the embeddings seek what the student cannot predict."""
    self_supervised: float = Field(0.1, ge=0)
    """β, weight of the student's own loss on hidden positions."""
    hidden: float = Field(0.15, gt=0, lt=1)
    """Share of the positions that are hidden from the student."""
