"""Alloy's background (docs/methods/alloy.md, Eqs. 18–20), against plain float64 loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from alloy_views import OWNERS, by_loops, drawn_with_foreign

from alloykit.methods.alloy.background_choice import choose_mixture
from alloykit.methods.alloy.mixture import LabelMixture
from alloykit.methods.alloy.routing import shares


def test_the_mixture_with_a_background() -> None:
    """The parameters are those of the last r and b; what is saved gives the same b."""
    view, p = drawn_with_foreign()
    r, b = (torch.tensor(v, dtype=torch.float64) for v in by_loops(view, [q.numpy() for q in p], background=True))
    assert 0.05 < float(b.mean()) < 0.95
    fitted, weights = LabelMixture.fit(view, OWNERS, background=True), r * (1 - b)[:, None]
    torch.testing.assert_close(fitted.means, weights.T @ view.z / weights.sum(0)[:, None])
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
    outside = 1 - found.background_share(view, OWNERS)
    counts = (torch.softmax(found.scores(view, OWNERS), -1) * outside[:, None]).sum(0)
    before = torch.softmax(plain.scores(view, OWNERS), -1).sum(0)
    kept = float(counts.min() / counts.sum()) / float(before.min() / before.sum())  # of four labels, the rarest one
    inverse = np.linalg.inv((found.factor @ found.factor.T).numpy())
    assert found.background is not None

    def apart(one: torch.Tensor, other: torch.Tensor) -> float:
        d = (one - other).numpy()
        return math.sqrt(d @ inverse @ d)

    near = [c for c in range(4) if counts[c] > 0.2 * counts.mean()]
    assert len(near) > 1
    nearest = sorted(min(apart(found.means[a], found.means[c]) for c in near if c != a) for a in near)
    middle = (nearest[(len(near) - 1) // 2] + nearest[len(near) // 2]) / 2
    far = min(apart(found.background.center, found.means[c]) for c in near) / middle
    chosen = choose_mixture(view, OWNERS, None, background=None, least=2)
    assert (chosen.remoteness, chosen.kept) == (pytest.approx(far), pytest.approx(kept))
    assert (chosen.mixture.background is not None) == (far * kept >= 0.9)
    assert choose_mixture(view, OWNERS, None, background=True, least=2).mixture.background is not None
    assert choose_mixture(view, OWNERS, None, background=False, least=2).mixture.background is None
    assert choose_mixture(view, OWNERS, None, background=True, least=46).mixture.background is None, (
        "too few texts are left"
    )
