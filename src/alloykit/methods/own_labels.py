"""What every teacher says of its own labels, of every text (the loss of UHC, Vongkulbhisal et al. 2019; a part of Alloy's).

Σ_i T² KL(p_i ‖ softmax(s[Y_i] / T))          s[Y_i]: the student's logits of the labels that teacher i knows

The terms of all teachers are computed at once, in arrays [B, N, largest C_i]. A loop over ten teachers would start ten times as many operations, and on a GPU
most of the time of such small ones is their start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from alloykit.labels import LabelSpace
from alloykit.outputs import Rows

NOTHING = -1e30  # logit of a place that belongs to no label: its probability is 0, and its logarithm is finite


@dataclass(frozen=True)
class _Places:
    """Where the logits of each teacher's labels are, teacher by teacher, padded to the largest number of labels: [N · largest C_i] int64.

    `in_union`: in the student's logits. `in_own`: in the logits of all teachers, one after another. `used`: [N, largest C_i] bool, without the padding."""

    in_union: Tensor
    in_own: Tensor
    used: Tensor

    def log_softmax(self, logits: Tensor, at: Tensor) -> Tensor:
        """Over each teacher's labels. logits [B, ·], taken at `in_union` or `in_own` → [B, N, largest C_i]"""
        z = logits.index_select(-1, at).view(-1, *self.used.shape)
        return torch.log_softmax(z.masked_fill(~self.used, NOTHING), -1)


@lru_cache(maxsize=16)  # it is asked for in every training step, and a copy to a GPU takes time
def _places(space: LabelSpace, device: torch.device) -> _Places:
    counts = torch.tensor([len(labels) for labels in space.teachers])
    before = counts.cumsum(0) - counts
    in_union = pad_sequence([space.index(i) for i in range(space.n_teachers)], batch_first=True)
    place = torch.arange(in_union.shape[1])
    used = place < counts[:, None]
    in_own = torch.where(used, before[:, None] + place, 0)
    return _Places(in_union.flatten().to(device), in_own.flatten().to(device), used.to(device))


def own_labels_kl(rows: Rows, space: LabelSpace, logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Σ_i T² KL(p_i ‖ softmax(s[Y_i] / T)), over the teachers that have an answer to the text. logits [B, C] float32: the student's → [B], in nats."""
    places = _places(space, logits.device)
    log_p = places.log_softmax(torch.cat([t.logits for t in rows.teachers], -1) / temperature, places.in_own)
    log_q = places.log_softmax(logits / temperature, places.in_union)
    terms = temperature**2 * (log_p.exp() * (log_p - log_q)).sum(-1)  # [B, N]
    answered = rows.counts()
    return (terms if answered is None else terms * answered.to(terms)).sum(-1)
