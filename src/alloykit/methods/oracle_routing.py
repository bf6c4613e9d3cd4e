"""Oracle routing: every text learned from the teachers that know its label (ours; with disjoint label sets, the upper bound of every weighting of teachers)."""

from __future__ import annotations

import torch

from alloykit.methods.distillation import has_answer
from alloykit.methods.protocol import Context, Method, Needs, Supervision
from alloykit.outputs import Rows


class OracleRouting(Method):
    """T(x) = mean over the teachers that know y of Pad_i(p_i(x)). The label selects the teachers, not the target."""

    name = "oracle"
    title = "Oracle routing: each text learned from the teachers that know its label"
    reference = "alloykit"
    target_reads_labels = True

    @property
    def needs(self) -> Needs:
        return Needs(labels=True)

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        assert rows.labels is not None
        owners = context.space.has_label().to(rows.labels.device)[:, rows.labels].T.float()
        answered = has_answer(owners, rows)
        shares = rows.weighed(owners / owners.sum(-1, keepdim=True))
        padded = [context.space.scatter(i, t.probabilities()) for i, t in enumerate(rows.teachers)]
        targets = (shares.unsqueeze(-1) * torch.stack(padded, 1)).sum(1)
        return Supervision(targets, answered, shares)
