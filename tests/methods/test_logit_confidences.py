"""Confidence from the size of the logits: energy and largest logit, standardised over the pool (ours)."""

import math

import loops
import pytest
import torch

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows
from alloykit.testing.rows import RowSource

LABELS = (("a", "b"), ("c", "d", "e"), tuple("fghijklm"))
SCORES = {"energy": loops.energy, "max_logit": max}


def teachers(scales=(1.0, 20.0, 0.1), shifts=(0.0, -30.0, 7.0), n=60):
    """Teachers whose logits differ in number, scale and place."""
    g = torch.Generator().manual_seed(8)
    drawn = zip(LABELS, scales, shifts, strict=True)
    return [shift + scale * torch.randn(n, len(labels), generator=g) for labels, scale, shift in drawn]


def from_logits(logits, score, **options):
    """The method, fitted to these logits, and its rows and context."""
    rows, space = Rows(tuple(TeacherRows(z) for z in logits)), LabelSpace.union(LABELS)
    method = create({"name": "muka", "confidence": score, **options})
    return method, rows, Context(space, method.fit(RowSource(rows), Context(space)))


@pytest.mark.parametrize("score", list(SCORES))
def test_confidence_from_logits_follows_the_formula(score):
    logits = teachers()
    method, rows, context = from_logits(logits, score)
    found = method.confidences(rows, context)
    assert found.dtype == torch.float64
    for i, z in enumerate(logits):
        pool = [SCORES[score](row) for row in z.double().tolist()]
        wanted = torch.tensor([loops.normal_share(e, pool) for e in pool], dtype=torch.float64)
        torch.testing.assert_close(found[:, i], wanted, rtol=1e-9, atol=1e-12)
    assert found.min() > 0
    assert found.max() < 1


@pytest.mark.parametrize("score", list(SCORES))
def test_confidence_from_logits_ignores_a_teachers_scale_and_place(score):
    """A shift of all logits moves both scores alike. The scale changes the largest logit alone in proportion."""
    logits = teachers(scales=(1.0, 1.0, 1.0))
    moved = [logits[0] + 5, logits[1], logits[2] * (3.0 if score == "max_logit" else 1.0)]
    (method, rows, context), (_, other, elsewhere) = from_logits(logits, score), from_logits(moved, score)
    torch.testing.assert_close(
        method.confidences(rows, context), method.confidences(other, elsewhere), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("score", list(SCORES))
def test_hard_mode_asks_the_teacher_of_the_largest_standardised_score(score):
    logits = teachers()
    method, rows, context = from_logits(logits, score, mode="hard")
    supervision = method.supervise(rows, context)
    scores = [[SCORES[score](row) for row in z.double().tolist()] for z in logits]
    means = [math.fsum(e) / len(e) for e in scores]
    sds = [math.sqrt(math.fsum((v - m) ** 2 for v in e) / len(e)) for e, m in zip(scores, means, strict=True)]
    for text in range(60):
        standardised = [(e[text] - m) / sd for e, m, sd in zip(scores, means, sds, strict=True)]
        best = standardised.index(max(standardised))
        assert supervision.teacher_weights[text].tolist() == [float(i == best) for i in range(3)]
        target = loops.pad(
            loops.softmax(logits[best][text].tolist()), LABELS[best], [name for labels in LABELS for name in labels]
        )
        assert supervision.targets[text].tolist() == pytest.approx(target, abs=1e-5)


@pytest.mark.parametrize("score", list(SCORES))
def test_a_teacher_of_constant_logits_has_confidence_one_half(score):
    logits = teachers()
    logits[1] = torch.ones(60, 3)
    method, rows, context = from_logits(logits, score)
    assert method.confidences(rows, context)[:, 1].tolist() == pytest.approx([0.5] * 60)


def test_needs_follow_the_options():
    assert create({"name": "muka"}).needs.dropout is None
    assert create({"name": "muka", "dropout": 0.3}).needs.dropout == 0.3
    kinds = ("entropy", "percentile", "mixture", "density", "energy", "max_logit")
    states = [kind for kind in kinds if create({"name": "muka", "confidence": kind}).needs.pooled_states]
    assert states == ["density"]


def test_which_confidences_need_passes():
    for score in ("energy", "max_logit", "density"):
        assert create({"name": "muka", "confidence": score}).needs.passes == 0
        assert create({"name": "muka", "confidence": score, "probabilities": "averaged"}).needs.passes == 16
    for score in ("entropy", "percentile", "mixture"):
        assert create({"name": "muka", "confidence": score}).needs.passes == 16
