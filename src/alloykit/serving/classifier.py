"""The interface of a loaded classifier, as a server uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor


class Classifier(Protocol):
    """A loaded classifier: `Predictor`, and any other class with the same methods.

    A classifier may also have a method `none_of_these(texts, pairs)`: for each text, [n] float32, how likely it is that none of the labels fits.
    """

    labels: tuple[str, ...]
    max_length: int
    tokenizer: Any

    def probabilities(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> Tensor:
        """Calibrated probabilities, [n, C] float32 on the CPU."""

    def logits(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> Tensor:
        """Logits before temperature and softmax, [n, C] float32 on the CPU."""
