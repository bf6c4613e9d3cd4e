"""Accuracy and macro-F1 of a classifier; precision, recall and F1 of each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, precision_recall_fscore_support
from torch import Tensor

from alloykit.labels import LabelSpace


def score(predicted: Tensor, labels: Tensor, space: LabelSpace, teachers: list[str]) -> dict[str, Any]:
    """accuracy, macro_f1 (over the labels that occur in the test texts), and accuracy per teacher group.

    predicted, labels: [n] int64 positions in the union. A text is in a teacher's group if the teacher knows its label;
    a shared label is in several groups. Groups without texts are None.
    """
    right = (predicted == labels).numpy()
    knows = space.has_label()[:, labels].numpy()
    groups = {name: float(right[knows[i]].mean()) if knows[i].any() else None for i, name in enumerate(teachers)}
    y = labels.numpy()
    f1 = f1_score(y, predicted.numpy(), labels=np.unique(y), average="macro")
    return {"accuracy": float(right.mean()), "macro_f1": float(f1), "groups": groups}


@dataclass(frozen=True)
class LabelScore:
    """One label. texts: test texts with it. None if a score is undefined: no test text has the label, or it was never predicted."""

    texts: int
    precision: float | None
    recall: float | None
    f1: float | None


def label_scores(confusion: Sequence[Sequence[int]]) -> list[LabelScore]:
    """Precision, recall and F1 of each label. confusion: [C, C] counts, true labels by predicted labels."""
    counts = np.asarray(confusion)
    true, predicted = np.indices(counts.shape)
    precision, recall, f1, _ = precision_recall_fscore_support(
        true.ravel(), predicted.ravel(), labels=range(len(counts)), sample_weight=counts.ravel(), zero_division=np.nan
    )
    scores = [[None if np.isnan(value) else float(value) for value in values] for values in (precision, recall, f1)]
    return [LabelScore(int(n), *row) for n, *row in zip(counts.sum(1), *scores, strict=True)]
