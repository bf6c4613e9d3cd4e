"""Whether a mixture has a background, decided without labels (ours: Alloy, Eq. 20).

    gain = mean_x [log density of z(x) with a background − the same without]          the background is used if gain ≥ 3.75        (20)

density: of the states alone, by the mixture (`LabelMixture.log_density`). Foreign texts are not like any label, so a Gaussian of their own makes
them far more likely. A label that teachers know and that is lost to the background had a Gaussian already, so little is gained.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from alloykit.methods.alloy.mixture import Anchors, LabelMixture, View

MIN_GAIN = 3.75  # nats for each text


@dataclass(frozen=True)
class Chosen:
    """The mixture that is used, and what decided it: 0 where no background was tried or too few texts were left outside of it."""

    mixture: LabelMixture
    gain: float = 0.0


def choose_mixture(
    view: View, owners: Tensor, anchors: Anchors | None, *, background: bool | None, least: int
) -> Chosen:
    """background: whether the mixture has one; None: by Eq. 20. least: texts that must be left outside of the background."""
    plain = LabelMixture.fit(view, owners, anchors)
    if background is False:
        return Chosen(plain)
    found = LabelMixture.fit(view, owners, anchors, background=True)
    if int((found.background_share(view, owners) < 0.5).sum()) < least:
        return Chosen(plain)
    gain = float((found.log_density(view) - plain.log_density(view)).mean())
    return Chosen(found if background or gain >= MIN_GAIN else plain, gain)
