"""Energies of teachers that have a label for "none of the others": compared with a loop in float64."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from alloykit.knowledge.abstention import Abstention
from alloykit.labels import LabelSpace
from alloykit.methods.muka.logit_confidences import LogitScore, fit_logit_confidences, logit_scores
from alloykit.methods.protocol import Context
from alloykit.outputs import Rows, TeacherRows
from alloykit.testing.rows import RowSource

SETS = [("a", "other", "b"), ("c", "d"), ("none", "e", "other")]
SPACE = LabelSpace.union(SETS, catch_all=["other", "none"])
N = 40


def rows() -> Rows:
    g = torch.Generator().manual_seed(0)
    return Rows(tuple(TeacherRows(3 * torch.randn(N, len(labels), generator=g)) for labels in SETS))


def by_hand(z: Tensor, labels: tuple[str, ...], score: LogitScore) -> float:
    def of(values: list[float]) -> float:
        return math.log(sum(map(math.exp, values))) if score == "energy" else max(values)

    mine = dict(zip(labels, z.double().tolist(), strict=True))
    rest = [v for name, v in mine.items() if name in SPACE.catch_all]
    return of([v for name, v in mine.items() if name not in SPACE.catch_all]) - (of(rest) if rest else 0)


@pytest.mark.parametrize("score", ["energy", "max_logit"])
def test_the_score_of_such_labels_is_subtracted(score: LogitScore) -> None:
    given = rows()
    found = logit_scores(given, Context(SPACE), score)
    for i, (teacher, labels) in enumerate(zip(given.teachers, SETS, strict=True)):
        expected = torch.tensor([by_hand(z, labels, score) for z in teacher.logits], dtype=torch.float64)
        torch.testing.assert_close(found[:, i], expected, rtol=1e-9, atol=1e-9)


def test_with_probabilities_only_it_is_the_log_odds_too() -> None:
    p = rows().teachers[0].probabilities()
    found = logit_scores(Rows((TeacherRows(p.log()), *rows().teachers[1:])), Context(SPACE), "energy")
    torch.testing.assert_close(found[:, 0], ((1 - p[:, 1]) / p[:, 1]).double().log(), rtol=1e-5, atol=1e-5)


def test_texts_that_a_teacher_abstains_from_belong_to_its_mean() -> None:
    marked = Abstention(SPACE)(rows())
    assert any(bool(t.abstains is not None and t.abstains.any()) for t in marked.teachers)
    with_abstention = fit_logit_confidences(RowSource(marked), Context(SPACE), "energy")
    plain = fit_logit_confidences(RowSource(rows()), Context(SPACE), "energy")
    for key, value in plain.items():
        torch.testing.assert_close(with_abstention[key], value)
    missing = replace(marked.teachers[0], answered=torch.arange(N) > 4)
    fewer = fit_logit_confidences(
        RowSource(replace(marked, teachers=(missing, *marked.teachers[1:]))), Context(SPACE), "energy"
    )
    torch.testing.assert_close(fewer["logit_mean"][0], logit_scores(marked, Context(SPACE), "energy")[5:, 0].mean())
