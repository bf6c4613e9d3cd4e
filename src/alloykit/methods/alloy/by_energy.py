"""The rule in place of a mixture that is not used: teachers' weights from energies and numbers of labels (ours: Alloy, Eqs. 25, 26).

    w_i(x) ∝ C_i exp(2 E_i(x))                                                                                                    (25)
    T(x) = Σ_i w_i Pad_i(p_i)                                                                                                     (26)

E_i: the standardised energy, Eq. 2. C_i: how many labels teacher i knows. If all labels are equally frequent, C_i / C is the share of the texts that teacher i knows.
If the energies of texts whose label a teacher knows, and those of the others, have normal distributions with equal variances, the log-odds that it knows a text
are a line in E_i. Its slope is 2 for two teachers that know as many texts each, if the means are 1.2 standard deviations of the pool apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.routing import routing_margin
from alloykit.methods.protocol import Supervision
from alloykit.outputs import Rows

SLOPE = 2.0
FLOOR = 1e-6  # of the weight of a text


def energy_weights(energies: Tensor, owners: Tensor, answered: Tensor | None) -> Tensor:
    """w of Eq. 25, over the teachers that have an answer (answered [B, N] bool; None: all). energies: [B, N], owners: [N, C] → [B, N] float64."""
    scores = SLOPE * energies.double() + owners.sum(-1).double().log()
    return torch.softmax(scores if answered is None else scores.masked_fill(~answered, -torch.inf), -1)


def by_energy(rows: Rows, energies: Tensor, space: LabelSpace, answered: Tensor | None) -> Supervision:
    """T of Eq. 26, and the weight of each text: the margin of Eq. 8 with T in place of r. energies, answered: as in `energy_weights`."""
    owners = space.has_label().to(energies.device)
    w = energy_weights(energies, owners, answered)
    padded = torch.stack([space.scatter(i, t.probabilities().double()) for i, t in enumerate(rows.teachers)], 1)
    targets = (w.unsqueeze(-1) * padded).sum(1)
    return Supervision(targets.float(), (routing_margin(targets, owners) + FLOOR).float(), w.float())
