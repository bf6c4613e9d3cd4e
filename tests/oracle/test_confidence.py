"""Entropy, confidence (Eqs. 9, 13), the margin (Eq. 15), both calibrations, and the confidences from logits."""

import math

import loops
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows
from alloykit.stats import calibration
from alloykit.stats.entropy import confidence, entropy
from alloykit.stats.margin import margin
from alloykit.testing.rows import RowSource

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
vectors = st.lists(st.floats(0.01, 1), min_size=2, max_size=8).map(lambda v: [a / sum(v) for a in v])


def uniform(n, seed=0):
    return torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@quick
@given(vectors)
def test_entropy_and_confidence_follow_the_formula(p):
    found = torch.tensor([p], dtype=torch.float64)
    assert entropy(found).item() == pytest.approx(loops.entropy(p), rel=1e-9, abs=1e-12)
    assert confidence(found).item() == pytest.approx(loops.confidence(p), rel=1e-9, abs=1e-12)
    assert -1e-12 <= confidence(found).item() <= 1


def test_entropy_of_certain_and_uniform_answers():
    p = torch.tensor([[1.0, 0.0, 0.0], [1 / 3] * 3])
    torch.testing.assert_close(entropy(p), torch.tensor([0.0, math.log(3)], dtype=torch.float64), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(confidence(p), torch.tensor([1.0, 0.0], dtype=torch.float64), rtol=1e-6, atol=1e-6)


def test_normalised_entropy_is_not_comparable_between_label_counts():
    """The numbers that the warnings print: 0.9 on the top class is .53 for two labels and .82 for fifty."""
    assert confidence(torch.tensor([0.9, 0.1])).item() == pytest.approx(0.53, abs=0.005)
    assert confidence(torch.tensor([0.9] + [0.1 / 49] * 49)).item() == pytest.approx(0.82, abs=0.005)


@quick
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=5, unique=True).flatmap(
        lambda c: st.tuples(st.just(c), st.lists(st.integers(0, 3), min_size=len(c), max_size=len(c)))
    )
)
def test_margin_is_the_lead_over_the_best_teacher_that_disagrees(case):
    c, tops = case
    found = margin(torch.tensor([c], dtype=torch.float64), torch.tensor([tops]))
    assert found.item() == pytest.approx(loops.margin(c, tops), abs=1e-12)


def test_margin_by_hand():
    c = torch.tensor([[0.9, 0.7, 0.2]], dtype=torch.float64).expand(4, 3)
    tops = torch.tensor([[0, 1, 2], [0, 0, 2], [0, 0, 0], [0, 1, 0]])
    torch.testing.assert_close(margin(c, tops), torch.tensor([0.2, 0.7, 0.9, 0.2], dtype=torch.float64))
    assert margin(torch.tensor([[0.3]]), torch.tensor([[0]])).item() == 1
    tied = torch.tensor([[0.8, 0.8]])
    assert margin(tied, torch.tensor([[0, 1]])).item() == 0
    assert margin(tied, torch.tensor([[1, 1]])).item() == pytest.approx(0.8)


@quick
@given(st.integers(0, 1000), st.integers(20, 400))
def test_percentile_counts_the_less_confident_share(seed, n):
    pool = uniform(n, seed)
    quantiles = calibration.fit_percentile(pool)
    asked = torch.cat([pool[:10], uniform(10, seed + 1), torch.tensor([-1.0, 2.0], dtype=torch.float64)])
    wanted = torch.tensor([loops.percentile(c, pool.tolist()) for c in asked.tolist()], dtype=torch.float64)
    # Linear interpolation between order statistics moves a share by less than one rank; the grid by 1/1000.
    torch.testing.assert_close(calibration.percentile_confidence(asked, quantiles), wanted, rtol=0, atol=1 / n + 2e-3)


def test_percentile_of_the_pool_is_uniform_and_ties_count_half():
    pool = uniform(2000) ** 4  # far from uniform before
    shares = calibration.percentile_confidence(pool, calibration.fit_percentile(pool)).sort().values
    torch.testing.assert_close(shares, torch.linspace(0, 1, 2000, dtype=torch.float64), rtol=0, atol=3e-3)
    mixed = torch.tensor([1.0] * 300 + [0.5] * 700, dtype=torch.float64)
    found = calibration.percentile_confidence(
        torch.tensor([0.2, 0.5, 0.7, 1.0, 1.1], dtype=torch.float64), calibration.fit_percentile(mixed)
    )
    torch.testing.assert_close(found, torch.tensor([0, 0.35, 0.7, 0.85, 1.0], dtype=torch.float64), rtol=0, atol=2e-3)
    same = calibration.fit_percentile(torch.full((50,), 0.4, dtype=torch.float64))
    assert calibration.percentile_confidence(torch.tensor([0.4], dtype=torch.float64), same).item() == pytest.approx(
        0.5
    )


def two_clusters(n=4000, low=-1.0, high=3.0, sigma=0.7, share=0.3, seed=3):
    """logit(c) from two Gaussians of one variance; `share` of the texts are known."""
    g = torch.Generator().manual_seed(seed)
    known = torch.rand(n, generator=g) < share
    x = torch.where(known, high, low) + sigma * torch.randn(n, generator=g)
    return torch.sigmoid(x.double()), known


def test_mixture_is_the_posterior_of_the_surer_cluster():
    low, high, sigma, share = -1.0, 3.0, 0.7, 0.3
    pool, known = two_clusters(low=low, high=high, sigma=sigma, share=share)
    coefficients = calibration.fit_mixture(pool)
    assert coefficients.shape == (2,)
    found = calibration.mixture_confidence(pool, coefficients)
    assert ((found > 0.5) == known).double().mean() > 0.99
    for c in (0.4, 0.6, 0.7, 0.72, 0.75, 0.8, 0.9):
        x = math.log(c / (1 - c))
        d1 = share * math.exp(-((x - high) ** 2) / (2 * sigma**2))
        d0 = (1 - share) * math.exp(-((x - low) ** 2) / (2 * sigma**2))
        assert calibration.mixture_confidence(torch.tensor([c]), coefficients).item() == pytest.approx(
            d1 / (d0 + d1), abs=0.06
        )


@pytest.mark.parametrize("kind", ["percentile", "mixture"])
def test_calibration_is_monotone_and_bounded(kind):
    pool, _ = two_clusters(500)
    fit, apply = getattr(calibration, f"fit_{kind}"), getattr(calibration, f"{kind}_confidence")
    found = apply(torch.linspace(0, 1, 501, dtype=torch.float64), fit(pool))
    assert found.min() >= 0
    assert found.max() <= 1
    assert (found.diff() >= 0).all()
    assert found[-1] - found[0] > 0.9
    torch.testing.assert_close(fit(pool), fit(pool))  # the same pool, the same curve


def test_mixture_without_spread_keeps_the_confidence():
    for pool in (torch.full((40,), 0.7), torch.ones(40), torch.tensor([0.3])):
        coefficients = calibration.fit_mixture(pool)
        asked = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
        torch.testing.assert_close(calibration.mixture_confidence(asked, coefficients), asked)


@pytest.mark.parametrize("kind", ["percentile", "mixture"])
def test_saturated_pools_stay_finite(kind):
    pool = torch.tensor([1.0] * 60 + [0.0] * 40)
    fit, apply = getattr(calibration, f"fit_{kind}"), getattr(calibration, f"{kind}_confidence")
    found = apply(torch.tensor([0.0, 0.5, 1.0, 1 + 1e-7]), fit(pool))
    assert torch.isfinite(found).all()
    assert found[0] < found[2]


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


def test_which_confidences_need_passes():
    for score in ("energy", "max_logit", "density"):
        assert create({"name": "muka", "confidence": score}).needs.passes == 0
        assert create({"name": "muka", "confidence": score, "probabilities": "averaged"}).needs.passes == 16
    for score in ("entropy", "percentile", "mixture"):
        assert create({"name": "muka", "confidence": score}).needs.passes == 16
