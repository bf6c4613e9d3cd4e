"""Accuracy and macro-F1, over all texts and over the texts of each teacher's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from torch import Tensor

from alloykit.labels import LabelSpace


def score(predicted: Tensor, labels: Tensor, space: LabelSpace, teachers: list[str]) -> dict[str, Any]:
    """accuracy, macro_f1 (over the labels that occur in the test texts), and accuracy per teacher group.

    predicted, labels: [n] int64 positions in the union. A text is in a teacher's group if the teacher knows its label;
    a shared label is in several groups. Groups without texts are None.
    """
    right = (predicted == labels).numpy()
    knows = space.knows()[:, labels].numpy()
    groups = {name: float(right[knows[i]].mean()) if knows[i].any() else None for i, name in enumerate(teachers)}
    y = labels.numpy()
    f1 = f1_score(y, predicted.numpy(), labels=np.unique(y), average="macro", zero_division=0)
    return {"accuracy": float(right.mean()), "macro_f1": float(f1), "groups": groups}
