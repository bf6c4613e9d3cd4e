"""The student's answers to a sample of the pool, for what is measured without labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.serving.predictor import Predictor
from alloykit.stages.unusual_texts import add_texts, fit_none_of_these, unusual_texts
from alloykit.stats.none_of_these import NoneOfThese
from alloykit.training.pool_sample import pool_sample
from alloykit.training.training_options import TrainingOptions


@dataclass(frozen=True)
class StudentOnPool:
    """n texts. `positions`: in the pool; `rows`: in the input; `unseen`: whether the student did not learn from the text, [n] bool; `probabilities`: at
    temperature 1, [n, C]; `states`: what the classification head reads, [n, d], None for a head that is not linear."""

    texts: Texts
    classifier: Predictor
    positions: list[int]
    rows: list[int]
    unseen: Tensor
    probabilities: Tensor
    states: Tensor | None

    @classmethod
    def of(cls, texts: Texts, classifier: Predictor, options: TrainingOptions) -> StudentOnPool:
        """texts: the pool. options: those of the student's training, which say from which texts it did not learn."""
        positions, unseen = pool_sample(len(texts), options)
        asked = texts.select(positions)
        answers = classifier.with_states(asked.table["text"], asked.pairs, "student on the pool")
        rows = list(asked.table["source_row"])
        return cls(texts, classifier, positions.tolist(), rows, torch.from_numpy(unseen), *answers)

    def unusual(self, groups: Tensor, labels: Sequence[str]) -> tuple[dict[str, Any], NoneOfThese | None]:
        """`none_of_these` with the most unusual texts, and what `predict --none-of-these` needs; nothing and None where it cannot be fitted. groups: as in
        `fit_none_of_these`. labels: the student's answer to each text, in words."""
        fitted, scores = fit_none_of_these(self.classifier, self.states, groups, self.unseen)
        return {} if fitted is None else {"none_of_these": unusual_texts(fitted, scores, labels, self.rows)}, fitted

    def show(self, entries: Iterable[dict[str, Any]]) -> None:
        """Add to each entry its text. An entry has the row of its text in the input."""
        add_texts(entries, self.texts, dict(zip(self.rows, self.positions, strict=True)))
