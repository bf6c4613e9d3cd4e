"""Alloy's background (docs/methods/alloy.md, Eqs. 18–21), against plain float64 loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from alloy_views import OVERLAPPING, OWNERS, by_loops, drawn_with_foreign, normal

from alloykit.methods.alloy.background import Background
from alloykit.methods.alloy.background_choice import MIN_GAIN, ChosenMixture
from alloykit.methods.alloy.cross_fit import cross_fit, same_teacher
from alloykit.methods.alloy.measures import fit_measures
from alloykit.methods.alloy.mixture import LabelMixture
from alloykit.methods.alloy.pool_view import PoolView
from alloykit.methods.alloy.routing import shares
from alloykit.methods.alloy.views import ViewAgreement, two_views
from alloykit.methods.protocol import Context


@pytest.mark.parametrize("partly", [False, True], ids=["all answers", "some answers"])
def test_the_mixture_with_a_background(partly: bool) -> None:
    """The parameters are those of the last r and b; what is saved gives the same b."""
    view, p = drawn_with_foreign(partly=partly)
    r, b = (torch.tensor(v, dtype=torch.float64) for v in by_loops(view, [q.numpy() for q in p], background=True))
    assert 0.05 < float(b.mean()) < 0.95
    fitted, weights = LabelMixture.fit(view, OWNERS, background=True), r * (1 - b)[:, None]
    torch.testing.assert_close(fitted.means, (weights**2).T @ view.z / (weights**2).sum(0)[:, None])
    assert fitted.background is not None
    torch.testing.assert_close(fitted.background.center, b @ view.z / b.sum())
    torch.testing.assert_close(fitted.history[-1], shares(weights, OWNERS, view.answered) / (1 - b).mean())
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
    chosen = ChosenMixture.fit(view, OWNERS, None, background=None, least=2)
    assert chosen.gain == pytest.approx(gain)
    assert (chosen.mixture.background is not None) == (gain >= MIN_GAIN)
    assert ChosenMixture.fit(view, OWNERS, None, background=True, least=2).mixture.background is not None
    assert ChosenMixture.fit(view, OWNERS, None, background=False, least=2).mixture.background is None
    assert ChosenMixture.fit(view, OWNERS, None, background=True, least=46).mixture.background is None, (
        "too few texts are left"
    )


def test_the_limits_of_a_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gain of 3.75 is enough, and so is the smallest number of texts outside."""
    view, _ = drawn_with_foreign()
    left = int((LabelMixture.fit(view, OWNERS, background=True).background_share(view, OWNERS) < 0.5).sum())
    for gain, least, used, too_few in (
        (3.74, left, False, False),
        (3.75, left, True, False),
        (3.75, left + 1, False, True),
    ):
        monkeypatch.setattr(
            LabelMixture, "log_density", lambda self, view, gain=gain: torch.full((45,), 0.0 if self.background is None else gain)
        )  # fmt: skip
        chosen = ChosenMixture.fit(view, OWNERS, None, background=None, least=least)
        assert (chosen.has_background, chosen.too_few) == (used, too_few)
        assert ChosenMixture.of(chosen.state(), view.z.device).too_few == too_few


@pytest.mark.parametrize("b", [0.0, 1.0])
def test_no_text_or_every_text_of_the_background(b: float) -> None:
    """The share is not quite 0 or 1, so its logarithms are finite."""
    view, _ = drawn_with_foreign()
    fitted = Background.fit(view.z, torch.full((45,), b).double(), 0.75, 1e-9)
    assert float(fitted.share) == pytest.approx(b, abs=1e-5)
    assert bool(fitted.scores(view.z).isfinite().all())


def test_texts_of_the_background_get_the_labels_of_the_mixture_without_one() -> None:
    """Eq. 21, by loops. What is saved gives the same scores."""
    view, _ = drawn_with_foreign()
    chosen = ChosenMixture.fit(view, OWNERS, None, background=True, least=2)
    without, found = LabelMixture.fit(view, OWNERS), LabelMixture.fit(view, OWNERS, background=True)
    b = found.background_share(view, OWNERS)
    r = torch.softmax(chosen.scores(view, OWNERS), -1)
    inside = outside = 0
    for x in range(len(view)):
        one, other = (torch.softmax(m.scores(view, OWNERS)[x], -1) for m in (found, without))
        for c in range(4):
            expected = float((1 - b[x]) * one[c] + b[x] * other[c])
            assert float(r[x, c]) == pytest.approx(expected, abs=1e-12)
        inside, outside = inside + int(b[x] > 0.9), outside + int(b[x] < 0.1)
    assert inside
    assert outside
    again = ChosenMixture.of(chosen.state(), view.z.device)
    assert torch.equal(again.scores(view, OWNERS), chosen.scores(view, OWNERS))
    assert again.has_background
    assert again.gain == chosen.gain
    alone = ChosenMixture.fit(view, OWNERS, None, background=False, least=2)
    assert not alone.has_background
    assert torch.equal(
        ChosenMixture.of(alone.state(), view.z.device).scores(view, OWNERS), without.scores(view, OWNERS)
    )


@pytest.mark.parametrize("of_teachers", [3, 6], ids=["two kinds of states", "the teachers' states only"])
def test_what_is_measured_with_a_background(of_teachers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mixtures of halves and of kinds of states have a background too. What is measured is that of the texts inside; labels are counted outside."""
    view, p = drawn_with_foreign()
    noise = torch.randn(view.z.shape, generator=torch.Generator().manual_seed(5))
    states = torch.cat([view.z.float(), view.z.float() + noise], -1)
    texts = PoolView(view, torch.arange(45), p, states, of_teachers)
    chosen = ChosenMixture.fit(view, OWNERS, None, background=True, least=2)
    assert chosen.without is not None
    said: list[tuple[torch.Tensor, bool]] = []
    monkeypatch.setattr(
        "alloykit.methods.alloy.measures.estimate", lambda plain, same, *_, views: said.append((same, views)) or {}
    )
    found = fit_measures(texts, chosen, None, Context(OVERLAPPING), 128)

    outside = chosen.background_share(view, OWNERS) >= 0.5
    assert 0 < int(outside.sum()) < 45
    foreign = chosen.without.scores(view, OWNERS)[outside].argmax(-1).tolist()
    assert found["background_labels"].tolist() == [foreign.count(c) for c in range(4)]
    half = cross_fit(view, OWNERS, background=True).part(~outside).scores
    same = same_teacher(chosen.scores(view.part(~outside), OWNERS), half, OWNERS, None)
    assert float(found["agreement"]) == float(same.double().mean())
    views = two_views(texts, 128, OWNERS, background=True)
    assert said[0][1] == (views is not None) == (of_teachers == 3)
    if views is not None:
        views = views[0][~outside], views[1][~outside]
        same = same_teacher(*views, OWNERS, None)
        assert float(found["label_agreement"]) == ViewAgreement.of(*views, OWNERS, None).labels
    assert torch.equal(said[0][0], same)
