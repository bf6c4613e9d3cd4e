"""The interface of a loaded classifier, as a server uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

from alloykit.models.long_texts import LongTexts
from alloykit.models.questions import QuestionPart
from alloykit.serving.prediction import Prediction


class Classifier(Protocol):
    """A loaded classifier: a `TextClassifier`, or any other class with these methods."""

    labels: tuple[str, ...]
    max_length: int
    long_texts: LongTexts
    tokenizer: Any

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        """The parts of its labels, one for each question; one part with the name "" of a classifier that answers one question."""

    @property
    def knows_unusual(self) -> bool:
        """Whether `predict` can be asked for `none_of_these`."""

    def predict(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        *,
        none_of_these: bool = False,
    ) -> Prediction:
        """Calibrated probabilities, [n, C] float32 on the CPU, and on request how unusual each text is, from one pass."""

    def logits(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> Tensor:
        """Logits before temperature and softmax, [n, C] float32 on the CPU."""
