"""Two mixtures of one pool, one for each kind of states, and how often they name the same label or teacher (ours: Alloy, Eqs. 27, 31).

    κ = (agree − chance) / (1 − chance)          chance = Σ_c share_c share′_c                                                  (27)
    κ′ = (same − 1/N) / (1 − 1/N)                                                                                               (31)

agree is the share of texts to which both mixtures give the same label; share_c and share′_c are the shares of texts to which they give label c. This is Cohen's κ
(1960). One mixture sees only the teachers' own states, the other only the neutral encoder's. If the pool's texts are about the labels, both find the
same groups of texts. If they are about something else, or if labels are of style and not of topic, each finds groups of its own.

same is the share of texts that both mixtures send to the same one of the N teachers (methods/alloy/cross_fit.py says when two teachers count as the same).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from alloykit.methods.alloy.cross_fit import same_teacher
from alloykit.methods.alloy.mixture import LabelMixture
from alloykit.methods.alloy.pool_view import PoolView
from alloykit.methods.alloy.states import StateSpace

UNLIKE = 0.55  # κ below which the texts are probably not about the labels, or the topic of a text says little about its label


@dataclass(frozen=True)
class ViewAgreement:
    """Of two views of the same texts. labels: κ of Eq. 27; teachers: κ′ of Eq. 31. Both are 1 if they always agree, and 0 if they agree as often as by chance.
    among: the number of teachers."""

    labels: float
    teachers: float
    among: int

    @classmethod
    def of(cls, one: Tensor, other: Tensor, owners: Tensor, answered: Tensor | None = None) -> ViewAgreement:
        """one, other: scores, [n, C] each. owners: [N, C] bool, N > 1. answered [n, N] bool: which teacher has an answer to which text, None: all."""
        return cls(label_agreement(one, other), teacher_agreement(one, other, owners, answered), len(owners))


def two_views(texts: PoolView, dimensions: int, owners: Tensor, *, background: bool) -> tuple[Tensor, Tensor] | None:
    """The scores (Eq. 6) of all texts by the mixture of the teachers' states and by that of the encoder's, [n, C] each; None where one kind is missing.
    dimensions: D of Eq. 1. background: whether the mixtures have one."""
    if texts.of_teachers in (0, texts.states.shape[1]):
        return None

    def scores(states: Tensor, of_teachers: int) -> Tensor:
        seen = replace(texts.view, z=StateSpace.fit(states, of_teachers, dimensions)(states))
        return LabelMixture.fit(seen, owners, background=background).scores(seen, owners)

    n = texts.of_teachers
    return scores(texts.states[:, :n], n), scores(texts.states[:, n:], 0)


def label_agreement(one: Tensor, other: Tensor) -> float:
    """κ of Eq. 27; 1 if both give all texts the same label, or there is no text. one, other: scores, [n, C] each."""
    from sklearn.metrics import cohen_kappa_score

    labels, others = one.argmax(-1), other.argmax(-1)
    if len({*labels.tolist(), *others.tolist()}) <= 1:
        return 1.0
    return float(cohen_kappa_score(labels.numpy(), others.numpy()))


def teacher_agreement(one: Tensor, other: Tensor, owners: Tensor, answered: Tensor | None = None) -> float:
    """κ′ of Eq. 31; 1 if there is no text. Arguments as in `ViewAgreement.of`."""
    if not len(one):
        return 1.0
    chance = 1 / len(owners)
    return (float(same_teacher(one, other, owners, answered).double().mean()) - chance) / (1 - chance)
