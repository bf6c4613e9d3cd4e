"""Whether a mixture has a background, decided without labels, and what texts of the background learn (ours: Alloy, Eqs. 20 to 22).

    gain = mean_x [log density of z(x) with a background − the same without]          the background is used if gain ≥ 3.75        (20)
    r = (1 − b) r^with + b r^without                                                                                             (21)
    u = 1 − ¾ b: how much a text counts for the student                                                                          (22)

density: of the states alone, by the mixture (`LabelMixture.log_density`). Foreign texts are not like any label, so a Gaussian of their own makes
them far more likely. A label that teachers know and that is lost to the background had a Gaussian already, so little is gained.

Eq. 20 can be wrong: in a skewed pool a frequent label can gain enough from a covariance of its own. By Eq. 21 the texts of this label, which the
mixture with a background has lost, keep the label that the mixture without one gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.methods.alloy.mixture import Anchors, LabelMixture, View

MIN_GAIN = 3.75  # nats for each text
LESS = 0.75  # how much less a text of the background counts for the student
WITHOUT = "without_"  # before the names of the second mixture's tensors


def too_few_left(state: Mapping[str, Tensor]) -> bool:
    """Whether a background was wanted, but left too few texts outside of it. False for a fit of an earlier version, which does not say."""
    return bool(state.get("background_too_few", False))


@dataclass(frozen=True)
class ChosenMixture:
    """The mixture that is used. without: the mixture without a background, if `mixture` has one. gain: Eq. 20; 0 where no background was tried.
    too_few: whether a background was wanted, but left too few texts outside of it to fit their labels."""

    mixture: LabelMixture
    without: LabelMixture | None = None
    gain: float = 0.0
    too_few: bool = False

    @classmethod
    def fit(
        cls, view: View, owners: Tensor, anchors: Anchors | None, *, background: bool | None, least: int
    ) -> ChosenMixture:
        """background: whether the mixture has one; None: by Eq. 20. least: texts that must be left outside of the background."""
        without = LabelMixture.fit(view, owners, anchors)
        if background is False:
            return cls(without)
        found = LabelMixture.fit(view, owners, anchors, background=True)
        gain = float((found.log_density(view) - without.log_density(view)).mean())
        if not background and gain < MIN_GAIN:
            return cls(without, gain=gain)
        if int((found.background_share(view, owners) < 0.5).sum()) < least:
            return cls(without, gain=gain, too_few=True)
        return cls(found, without, gain)

    @property
    def has_background(self) -> bool:
        return self.without is not None

    def background_share(self, view: View, owners: Tensor) -> Tensor:
        """b of Eq. 19, [B]."""
        return self.mixture.background_share(view, owners)

    def counts(self, view: View, owners: Tensor) -> Tensor:
        """u of Eq. 22, how much each text counts for the student: 1 − ¾ b, [B] float64."""
        return 1 - LESS * self.background_share(view, owners)

    def scores(self, view: View, owners: Tensor) -> Tensor:
        """The logarithms of Eq. 6's right-hand sides; with a background the logarithm of Eq. 21's r. [B, C]"""
        scores = self.mixture.scores(view, owners)
        if self.without is None:
            return scores
        b = self.background_share(view, owners).unsqueeze(-1)
        r, r_without = (torch.log_softmax(s, -1) for s in (scores, self.without.scores(view, owners)))
        return torch.logaddexp((1 - b).log() + r, b.log() + r_without)

    def state(self) -> dict[str, Tensor]:
        second = {} if self.without is None else self.without.state()
        gain = torch.tensor(self.gain, dtype=torch.float64)
        return (
            self.mixture.state()
            | {f"{WITHOUT}{name}": value for name, value in second.items()}
            | {"background_gain": gain, "background_too_few": torch.tensor(self.too_few)}
        )

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> ChosenMixture:
        second = {name.removeprefix(WITHOUT): value for name, value in state.items() if name.startswith(WITHOUT)}
        without = LabelMixture.of(second, device) if second else None
        mixture, gain = LabelMixture.of(state, device), float(state["background_gain"])
        return cls(mixture, without, gain, too_few_left(state))
