"""Accuracy and macro-F1, over all texts and over the texts of each teacher's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.base import Context, Method
from alloykit.methods.ensemble import Ensemble
from alloykit.methods.registry import create
from alloykit.rows import Source, chunks


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


def score_teachers(
    source: Source, labels: Tensor, method: Method, context: Context, teachers: list[str]
) -> dict[str, dict[str, Any]]:
    """Scores of every teacher alone, of their ensemble and, where the method has a single target, of its routing."""
    ways: dict[str, Method] = {
        f"teacher {name}": create({"name": "teacher", "which": i}) for i, name in enumerate(teachers)
    }
    ways["ensemble"] = Ensemble(Ensemble.Options())
    if method.single_target and method.needs.teachers:
        ways["routing"] = method
    picked: dict[str, list[Tensor]] = {name: [] for name in ways}
    owners: list[Tensor] = []
    for rows in chunks(source):
        for name, way in ways.items():
            supervision = way.supervise(rows, context)
            assert supervision is not None
            picked[name].append(supervision.targets.argmax(-1))
            if name == "routing" and supervision.teacher_weights is not None:
                owners.append(supervision.teacher_weights.argmax(-1))
    scores = {name: score(torch.cat(parts), labels, context.space, teachers) for name, parts in picked.items()}
    if owners:
        right = context.space.knows()[torch.cat(owners), labels]
        scores["routing"]["right_teacher"] = float(right.double().mean())
    return scores
