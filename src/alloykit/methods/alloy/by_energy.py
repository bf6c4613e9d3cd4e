"""The rule in place of a mixture if the pool has too few texts for one: labels' probabilities from energies, numbers of labels and answers (ours: Alloy, Eqs. 25, 26).

    w_i(x) ∝ C_i exp(2 E_i(x))                                                                                                    (25)
    r_c(x) ∝ a_c(x) Σ_{i knows c} w_i(x)          T by Eqs. 7 and 12 with clarity_i = 1: T(x) = Σ_i γ_i Pad_i(p_i)                (26)

E_i: the standardised energy, Eq. 2. C_i: how many labels teacher i knows. If all labels are equally frequent, C_i / C is the share of the texts that teacher i knows.
If the energies of texts whose label a teacher knows, and those of the others, have normal distributions with equal variances, the log-odds that it knows a text
are a line in E_i. Its slope is 2 for two teachers that know as many texts each, if the means are 1.2 standard deviations of the pool apart.

a_c is that of Eq. 3. If no label is known to two teachers, γ_i is w_i. If some are, their answers can contradict: if one teacher says c, and another one that knows c
too says otherwise, then a_c is small, and so is the weight of the first one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.routing import routing_margin, teacher_weights
from alloykit.methods.alloy.target import target
from alloykit.methods.protocol import Supervision
from alloykit.outputs import Rows

SLOPE = 2.0
FLOOR = 1e-6  # of the weight of a text


def energy_weights(energies: Tensor, owners: Tensor, answered: Tensor | None) -> Tensor:
    """w of Eq. 25, over the teachers that have an answer (answered [B, N] bool; None: all). energies: [B, N], owners: [N, C] → [B, N] float64."""
    scores = SLOPE * energies.double() + owners.sum(-1).double().log()
    return torch.softmax(scores if answered is None else scores.masked_fill(~answered, -torch.inf), -1)


def energy_responsibilities(answers: Tensor, energies: Tensor, owners: Tensor, answered: Tensor | None) -> Tensor:
    """r of Eq. 26, [B, C] float64. answers: log a, [B, C]; the others as in `energy_weights`."""
    w = energy_weights(energies, owners, answered)
    return torch.softmax(answers + (w @ owners.double()).log(), -1)


def by_energy(rows: Rows, answers: Tensor, energies: Tensor, space: LabelSpace, answered: Tensor | None) -> Supervision:
    """T of Eq. 26, and the weight of each text: the margin of Eq. 8. Arguments as in `energy_responsibilities`."""
    owners = space.has_label().to(energies.device)
    r = energy_responsibilities(answers, energies, owners, answered)
    targets = target(space, [t.probabilities() for t in rows.teachers], r, r.new_ones(len(owners)), answered)
    gamma = teacher_weights(r, owners, answered)
    return Supervision(targets.float(), (routing_margin(r, owners, answered) + FLOOR).float(), gamma.float())
