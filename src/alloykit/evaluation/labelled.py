"""The evaluation on labelled texts, from stored probabilities alone."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.metrics import confusion_matrix
from torch import Tensor

from alloykit.evaluation.answers import ENSEMBLE, ROUTING, STUDENT, Answers
from alloykit.evaluation.metrics import score
from alloykit.evaluation.reference_distance import distance, oracle_routing
from alloykit.evaluation.reliability import reliability
from alloykit.evaluation.significance import against, interval
from alloykit.labels import LabelSpace
from alloykit.stats.temperature import tempered

BINS = 20
# Each text is labelled by the teachers that know its true label. No routing can be better, if no label is known to two teachers.
ORACLE = "oracle routing"


def assess(
    answers: Answers,
    space: LabelSpace,
    teachers: list[str],
    *,
    reference: Tensor | None = None,
    temperature: float | None = None,
) -> dict[str, Any]:
    """The `evaluation` of metrics.json (run_folder/metrics.py: Evaluation). teachers: their names.

    reference: [n, C], the probabilities of a model trained on all labels; without it those of the teachers that know the true label.
    temperature: the student's, as fitted without labels; its effect on the student's ECE is reported.
    """
    y, p = answers.labels, answers.probabilities
    scores = answers.scores(space, teachers)
    right = {way: (p[way].argmax(-1) == y).numpy() for way in scores}
    answered = {way: texts.numpy() for way, texts in answers.answered_by(teachers).items()}
    for way, scored in scores.items():
        scored["interval"] = interval(right[way][answered[way]] if way in answered else right[way])
    judged = [way for way in (STUDENT, ROUTING, ENSEMBLE) if way in p]
    ours = judged[0]
    found: dict[str, Any] = {
        "texts": len(y),
        "scores": scores,
        "judged": ours,
        "confusion": confusion_matrix(y.numpy(), p[ours].argmax(-1).numpy(), labels=range(space.size)).tolist(),
        "reliability": {way: reliability(p[way], y) for way in judged},
        "significance": against(right, ours, answered),
        "confidence": _right_and_wrong(answers, space),
        "routing": _routing(answers, space, teachers),
    }
    if temperature is not None and STUDENT in p:
        found["reliability"]["student, tempered"] = reliability(tempered(p[STUDENT], temperature), y)
    if teachers:
        by_owners = oracle_routing([p[f"teacher {name}"] for name in teachers], y, space, ~answers.confidence.isnan())
        mine = scores.pop(ours)  # the judged classifier comes last
        scores[ORACLE] = score(by_owners.argmax(-1), y, space, teachers)
        scores[ours] = mine
        kind = "the teachers that know the true label" if reference is None else "a model trained on all labels"
        compared = {way: p[way] for way in judged}
        found["reference"] = {
            "is": kind,
            **distance(by_owners if reference is None else reference, compared, answers.weights),
        }
    return found


def _right_and_wrong(answers: Answers, space: LabelSpace) -> dict[str, list[int]]:
    """Histograms over [0, 1] of c for the teachers that know a text's label and for those that do not (MUKA, Fig. 3). Only where their answers count."""
    knows = space.has_label()[: answers.confidence.shape[1], answers.labels].T  # [n, N]
    c, counts = answers.confidence.clamp(0, 1), ~answers.confidence.isnan()
    return {
        "right": torch.histc(c[knows & counts], BINS, 0, 1).int().tolist(),
        "wrong": torch.histc(c[~knows & counts], BINS, 0, 1).int().tolist(),
    }


def _routing(answers: Answers, space: LabelSpace, teachers: list[str]) -> dict[str, Any] | None:
    """Per true label: how often each teacher had the largest weight, and whether one that knows the label had."""
    if answers.teacher_weights is None:
        return None
    owner = answers.teacher_weights.argmax(-1)
    right = space.has_label()[owner, answers.labels]
    found: dict[str, Any] = {}
    for c, label in enumerate(space.names):
        here = answers.labels == c
        if bool(here.any()):
            shares = {t: float((owner[here] == i).double().mean()) for i, t in enumerate(teachers)}
            found[label] = {"texts": int(here.sum()), "right": float(right[here].double().mean()), "to": shares}
    return found
