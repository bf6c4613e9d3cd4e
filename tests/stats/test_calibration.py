"""Both calibrations of confidences: percentile and mixture."""

import math

import loops
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.stats import calibration

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def uniform(n, seed=0):
    return torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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
