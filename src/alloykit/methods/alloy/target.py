"""The student's target, from responsibilities and the teachers' answers (ours: Alloy, Eqs. 11, 12).

    clarity_i = (mean_x max_c p_i(c | x) − 1/C_i) / (1 − 1/C_i)    the mean over the texts that teacher i knows, weighted by k_i  (11)
    T(x) = Σ_i γ_i [ clarity_i Pad_i(p_i) + (1 − clarity_i) r restricted to Y_i ]                                              (12)

clarity_i is that of teacher i's answers: 1 if its answers have probability 1, 0 if it guesses. A clear teacher knows best which of its labels a text has.
A barely trained teacher answers 0.55 and 0.45. Then the responsibilities know better, because they also use which texts are similar.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.routing import knows_label, teacher_weights


def clarity(probabilities: Sequence[Tensor], r: Tensor, owners: Tensor, answered: Tensor | None = None) -> Tensor:
    """Eq. 11, [N] float64. probabilities: [n, C_i] each; r [n, C]; answered [n, N] bool: which texts count for which teacher."""
    known, found = knows_label(r, owners, answered), []
    for i, p in enumerate(probabilities):
        chance = 1 / p.shape[-1]
        mean = (known[:, i] * p.double().amax(-1)).sum() / known[:, i].sum().clamp(min=1e-9)
        found.append(((mean - chance) / (1 - chance)).clamp(0, 1))
    return torch.stack(found)


def confidence_of_answers(
    probabilities: Sequence[Tensor],
    r: Tensor,
    owners: Tensor,
    clear: Tensor,
    space: LabelSpace,
    answered: Tensor | None = None,
) -> Tensor:
    """The largest probability of what the most likely teacher with an answer adds to T in Eq. 12, [n] float64. Arguments as in `clarity` and `target`."""
    found = torch.stack([_answer(space, i, p, r, owners, clear).amax(-1) for i, p in enumerate(probabilities)], -1)
    return found.gather(1, knows_label(r, owners, answered).argmax(-1, keepdim=True)).squeeze(1)


def target(
    space: LabelSpace, probabilities: Sequence[Tensor], r: Tensor, clear: Tensor, answered: Tensor | None = None
) -> Tensor:
    """T of Eq. 12, [B, C] float64. probabilities: [B, C_i] each; r [B, C]; clear [N]: clarity; answered [B, N] bool: which teacher has an answer."""
    owners = space.has_label().to(r.device)
    gamma, found = teacher_weights(r, owners, answered), torch.zeros_like(r)
    for i, p in enumerate(probabilities):
        found += gamma[:, i, None] * _answer(space, i, p, r, owners, clear)
    return found / found.sum(-1, keepdim=True)


def _answer(space: LabelSpace, i: int, p: Tensor, r: Tensor, owners: Tensor, clear: Tensor) -> Tensor:
    """The brackets of Eq. 12 for teacher i, [B, C]."""
    known = r * owners[i]
    mass = known.sum(-1, keepdim=True)
    padded = space.scatter(i, p.double())
    restricted = torch.where(mass > 1e-12, known / mass.clamp(min=1e-12), padded)
    return clear[i] * padded + (1 - clear[i]) * restricted
