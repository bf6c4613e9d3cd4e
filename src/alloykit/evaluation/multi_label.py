"""Scores of classifiers whose labels do not exclude each other. A label is given to a text if its probability is at least 0.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from sklearn.metrics import average_precision_score
from torch import Tensor

from alloykit.evaluation.answers import STUDENT
from alloykit.evaluation.significance import paired_f1_interval
from alloykit.labels import GIVEN, LabelSpace
from alloykit.methods.multi_label import label_probabilities
from alloykit.outputs import Source, chunks

MEAN = "mean of the teachers"


def multi_label_answers(source: Source, space: LabelSpace, teachers: Sequence[str]) -> dict[str, Tensor]:
    """The probabilities of every label by each teacher alone and by their mean: by classifier, [n, C] float32. NaN where the classifier does not
    know the label or has no answer to the text."""
    parts: dict[str, list[Tensor]] = {way: [] for way in (*(f"teacher {name}" for name in teachers), MEAN)}
    for rows in chunks(source):
        for i, (name, teacher) in enumerate(zip(teachers, rows.teachers, strict=True)):
            p = space.scatter(i, torch.sigmoid(teacher.logits), fill=torch.nan)
            if teacher.answered is not None:
                p = torch.where(teacher.answered.unsqueeze(-1), p, torch.nan)
            parts[f"teacher {name}"].append(p)
        mean, known = label_probabilities(rows, space)
        parts[MEAN].append(torch.where(known, mean, torch.nan))
    return {way: torch.cat(found) for way, found in parts.items()}


def multi_label_scores(answers: Mapping[str, Tensor], truth: Tensor, labels: Sequence[str]) -> dict[str, Any]:
    """`texts`. `scores`: for each classifier `micro_f1`, `macro_f1`, `exact`, and by label `texts`, `precision`, `recall`, `f1` and `average_precision`.
    If student and mean of the teachers are among the classifiers, also `significance`: the student's micro-F1 less that of the mean, on the labels for
    which the mean has a probability, as `paired_f1_interval` gives it, and the number of these `texts`.

    answers: as `multi_label_answers` gives them. truth: [n, C] bool. exact: the share of texts with exactly the true labels, among those that the
    classifier knows. A value is None if it is undefined, as the recall of a label that no text has."""
    scores = {}
    for way, p in answers.items():
        known = ~p.isnan()
        given = (p >= GIVEN) & known
        by_label = {label: _of_label(p[:, c], truth[:, c]) for c, label in enumerate(labels) if bool(known[:, c].any())}
        answered = known.any(-1)
        exact = (((given == truth) | ~known).all(-1) & answered).sum() / answered.sum().clamp(min=1)
        f1 = [s["f1"] for s in by_label.values() if s["f1"] is not None]
        scores[way] = {
            "micro_f1": _ratio(*_f1_counts(p, truth, known).sum(0).tolist()),
            "macro_f1": sum(f1) / len(f1) if f1 else None,
            "exact": float(exact),
            "labels": by_label,
        }
    found: dict[str, Any] = {"texts": len(truth), "scores": scores}
    if STUDENT in answers and MEAN in answers:
        known = ~answers[MEAN].isnan()
        student, mean = (_f1_counts(answers[way], truth, known).numpy() for way in (STUDENT, MEAN))
        if student[:, 1].any() and mean[:, 1].any():
            found["significance"] = {MEAN: paired_f1_interval(student, mean) | {"texts": int(known.any(-1).sum())}}
    return found


def _f1_counts(p: Tensor, truth: Tensor, known: Tensor) -> Tensor:
    """For each text 2 · hits, and 2 · hits + wrong + missed labels, among those that are `known`: [n, 2] int64."""
    given, true = (p >= GIVEN) & known, truth & known
    return torch.stack([2 * (given & true).sum(-1), given.sum(-1) + true.sum(-1)], -1)


def _of_label(p: Tensor, truth: Tensor) -> dict[str, Any]:
    known = ~p.isnan()
    p, truth = p[known], truth[known]
    given = p >= GIVEN
    hits, wrong, missed = int((given & truth).sum()), int((given & ~truth).sum()), int((~given & truth).sum())
    has_some = bool(truth.any())
    return {
        "texts": int(truth.sum()),
        "precision": _ratio(hits, hits + wrong),
        "recall": _ratio(hits, hits + missed),
        "f1": _ratio(2 * hits, 2 * hits + wrong + missed) if has_some else None,
        "average_precision": float(average_precision_score(truth.numpy(), p.numpy())) if has_some else None,
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def learned_labels(target: Tensor, known: Tensor, student: Tensor, labels: Sequence[str]) -> dict[str, Any]:
    """What student and teachers say of some texts of the pool, by label: the `target` and `student` means, their mean absolute `difference`, and
    `agree`, the share of texts on which both give the label or both do not. target, student: [n, C]; known: [n, C] bool."""
    found = {}
    for c, label in enumerate(labels):
        t, s = target[known[:, c], c].double(), student[known[:, c], c].double()
        if len(t):
            found[label] = {
                "texts": len(t),
                "target": float(t.mean()),
                "student": float(s.mean()),
                "difference": float((t - s).abs().mean()),
                "agree": float(((t >= GIVEN) == (s >= GIVEN)).double().mean()),
            }
    return found
