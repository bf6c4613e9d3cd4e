"""Two-fold cross-fitting: the temperature of the routing, and whether the states can tell labels apart (ours: Alloy, Eqs. 9, 10).

The pool is split at random into two halves. η′(x) are the scores of x, the logarithms of Eq. 6, by the mixture that was fitted to the half without x.

    α = argmax_{0.02 ≤ α ≤ 1} mean_x log k′_{i*(x)}(x; α)          k′_i(x; α) = Σ_{c ∈ Y_i} softmax_c(α η′_c(x))                  (9)
    skill = (hits − chance) / (1 − chance)                                                                                   (10)

i*(x): the teacher that most probably knows x, by the mixture of all texts. hits: the share of texts for which the states alone choose, among the
labels of i*(x), the label that i*(x) answers. chance: the same share if each teacher's most frequent answer were always chosen. If chance is above 0.95, the
teachers nearly always give the same answer, and the skill cannot be measured. It is 1 then.

In D dimensions a mixture is overconfident, because its assumptions are not exactly true. Eq. 9 chooses the temperature with which the
mixture of the other half predicts i* best. Eq. 10 tests the states on the labels of one teacher, because the teacher itself can tell these apart. States that
cannot tell these labels apart cannot tell teachers apart either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.methods.alloy.mixture import LabelMixture, View
from alloykit.methods.alloy.routing import knows_label

MIN_ALPHA = 0.02  # α
TRIED = 12  # values of α that are tried before the search
ONE_ANSWER = 0.95  # share of texts with their teacher's most frequent answer above which the skill cannot be measured


@dataclass(frozen=True)
class CrossFitted:
    """By the mixture of the other half: `scores` (Eq. 6) and `state_scores` (Eq. 4, without log a). [n, C] each"""

    scores: Tensor
    state_scores: Tensor

    def part(self, at: Tensor) -> CrossFitted:
        return CrossFitted(self.scores[at], self.state_scores[at])


def cross_fit(view: View, owners: Tensor, *, background: bool = False) -> CrossFitted:
    """The scores of every text by the mixture that was fitted to the other half of the texts. background: whether these mixtures have one."""
    half = random_half(len(view))
    scores, by_states = torch.empty_like(view.answers), torch.empty_like(view.answers)
    for one, other in ((half, ~half), (~half, half)):
        fitted, asked = LabelMixture.fit(view.part(one), owners, background=background), view.part(other)
        scores[other] = fitted.scores(asked, owners)
        by_states[other] = fitted.state_scores(asked) - asked.answers
    return CrossFitted(scores, by_states)


def random_half(n: int) -> Tensor:
    """Which of n texts are in the first half, [n] bool; always the same for the same n. It is random because the order of a file can say
    something of the labels: if they alternate, every second text has the same one."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(0)) % 2 == 0


def fit_inverse_temperature(
    scores: Tensor, cross_fitted: Tensor, owners: Tensor, answered: Tensor | None = None
) -> Tensor:
    """α of Eq. 9, []. scores, cross_fitted: [n, C], by the mixture of all texts and by that of the other half; answered [n, N] bool: which teacher has
    an answer to which text, None: all."""
    from scipy.optimize import minimize_scalar

    teacher = _teacher(scores, owners, answered).unsqueeze(1)

    def loss(alpha: float) -> float:
        known = knows_label(torch.softmax(alpha * cross_fitted, -1), owners).gather(1, teacher)
        return -float(known.clamp(min=1e-12).log().mean())

    # The loss can have several minima. So a few values are tried first, and the search stays around the best of them.
    tried = torch.logspace(math.log10(MIN_ALPHA), 0, TRIED).tolist()
    best = min(range(TRIED), key=lambda k: loss(tried[k]))
    around = (tried[max(best - 1, 0)], min(tried[min(best + 1, TRIED - 1)], 1.0))
    found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-4})
    return torch.tensor(float(found.x), dtype=scores.dtype)


def same_teacher(scores: Tensor, cross_fitted: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
    """Which texts both mixtures send to the same teacher, [n] bool. Two teachers count as the same one if both know the most likely label
    of the first mixture, and that of the second: then it does not matter which of them answers. answered: as in `fit_inverse_temperature`."""
    one, other = _teacher(scores, owners, answered), _teacher(cross_fitted, owners, answered)
    common = owners[one] & owners[other]
    first, second = (common.gather(1, s.argmax(-1, keepdim=True)).squeeze(1) for s in (scores, cross_fitted))
    return (one == other) | (first & second)


def same_label(
    scores: Tensor, by_states: Tensor, answers: Tensor, owners: Tensor, answered: Tensor | None = None
) -> Tensor:
    """For which texts the states alone choose, among the labels of i*(x), the label that i*(x) answers, [n] bool. Arguments as in `label_skill`."""
    elsewhere = ~owners[_teacher(scores, owners, answered)]
    chosen, given = (values.masked_fill(elsewhere, -torch.inf).argmax(-1) for values in (by_states, answers))
    return chosen == given


def label_skill(
    scores: Tensor, by_states: Tensor, answers: Tensor, owners: Tensor, answered: Tensor | None = None
) -> float:
    """Eq. 10. scores [n, C] by the mixture of all texts; by_states [n, C] of the other half's; answers [n, C]: log a; answered: as in
    `fit_inverse_temperature`."""
    teacher = _teacher(scores, owners, answered)
    given = answers.masked_fill(~owners[teacher], -torch.inf).argmax(-1)
    each = [given[teacher == i].bincount() for i in range(len(owners))]
    chance = sum(float(counts.max()) for counts in each if len(counts)) / len(scores)
    if chance > ONE_ANSWER:
        return 1.0
    hits = same_label(scores, by_states, answers, owners, answered)
    return (float(hits.double().mean()) - chance) / (1 - chance)


def _teacher(scores: Tensor, owners: Tensor, answered: Tensor | None) -> Tensor:
    """i*(x), [n]: the teacher that most probably knows x, of those with an answer."""
    return knows_label(torch.softmax(scores, -1), owners, answered).argmax(-1)
