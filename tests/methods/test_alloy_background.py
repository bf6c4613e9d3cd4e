"""Alloy's background (docs/methods/alloy.md, Eqs. 18–20), against plain float64 loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from alloy_views import OWNERS, by_loops, drawn_with_foreign, normal

from alloykit.methods.alloy.background_choice import MIN_GAIN, choose_mixture
from alloykit.methods.alloy.mixture import LabelMixture
from alloykit.methods.alloy.routing import shares


def test_the_mixture_with_a_background() -> None:
    """The parameters are those of the last r and b; what is saved gives the same b."""
    view, p = drawn_with_foreign()
    r, b = (torch.tensor(v, dtype=torch.float64) for v in by_loops(view, [q.numpy() for q in p], background=True))
    assert 0.05 < float(b.mean()) < 0.95
    fitted, weights = LabelMixture.fit(view, OWNERS, background=True), r * (1 - b)[:, None]
    torch.testing.assert_close(fitted.means, (weights**2).T @ view.z / (weights**2).sum(0)[:, None])
    assert fitted.background is not None
    torch.testing.assert_close(fitted.background.center, b @ view.z / b.sum())
    torch.testing.assert_close(fitted.history[-1], shares(weights, OWNERS) / (1 - b).mean())
    again = LabelMixture.of(fitted.state(), view.z.device)
    assert torch.equal(again.background_share(view, OWNERS), fitted.background_share(view, OWNERS))
    assert LabelMixture.of(LabelMixture.fit(view, OWNERS).state(), view.z.device).background is None


def test_whether_there_is_a_background() -> None:
    """Eq. 20, by loops. An option decides in its place."""
    view, _ = drawn_with_foreign()
    plain, found = LabelMixture.fit(view, OWNERS), LabelMixture.fit(view, OWNERS, background=True)
    assert found.background is not None
    share = float(torch.exp(found.background.log_share + 2))
    share = share / (1 + share)
    center, spread = found.background.center.numpy(), (found.background.spread @ found.background.spread.T).numpy()

    def density(mixture: LabelMixture, x: int) -> float:
        prior = np.exp(mixture.log_prior.numpy())
        sigma, at = (mixture.factor @ mixture.factor.T).numpy(), view.z[x].numpy()
        return sum(prior[c] / prior.sum() * normal(at, mixture.means[c].numpy(), sigma) for c in range(4))

    gain = 0.0
    for x in range(len(view)):
        with_one = (1 - share) * density(found, x) + share * normal(view.z[x].numpy(), center, spread)
        gain += (math.log(with_one) - math.log(density(plain, x))) / len(view)
    chosen = choose_mixture(view, OWNERS, None, background=None, least=2)
    assert chosen.gain == pytest.approx(gain)
    assert (chosen.mixture.background is not None) == (gain >= MIN_GAIN)
    assert choose_mixture(view, OWNERS, None, background=True, least=2).mixture.background is not None
    assert choose_mixture(view, OWNERS, None, background=False, least=2).mixture.background is None
    assert choose_mixture(view, OWNERS, None, background=True, least=46).mixture.background is None, (
        "too few texts are left"
    )
