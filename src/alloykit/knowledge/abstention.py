"""Which texts a teacher leaves to the others: it gives them a label that means "none of my other labels" (ours).

Teacher i abstains from text x if its most probable label is such a label, and the most probable label of some other teacher is neither such a label
nor known to i. Then i's answer says only that i does not know the label, and counts as no answer. If another teacher names a label that i knows too,
the two contradict each other, and both answers count. If all teachers give such a label, all of them count, and the text gets it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.outputs import Rows


@dataclass(frozen=True)
class Abstention:
    """Marks the texts that teachers abstain from. space: with `catch_all`."""

    space: LabelSpace

    def __call__(self, rows: Rows) -> Rows:
        """The same rows, with `abstains` of every teacher that has such a label."""
        found = self.abstains(rows)
        has_one = [bool(set(labels) & set(self.space.catch_all)) for labels in self.space.teachers]
        teachers = zip(rows.teachers, found.T, has_one, strict=True)
        return replace(rows, teachers=tuple(replace(t, abstains=a) if may else t for t, a, may in teachers))

    def abstains(self, rows: Rows) -> Tensor:
        """[B, N] bool."""
        space, teachers = self.space, rows.teachers
        top = torch.stack([space.index(i)[t.logits.argmax(-1)] for i, t in enumerate(teachers)], -1)
        none_of_others = torch.tensor([name in space.catch_all for name in space.names])[top]
        some = rows.answered()
        answered = torch.ones_like(none_of_others) if some is None else some
        names_one = answered & ~none_of_others  # [B, N]
        # [N, B, N]: whether teacher i does not know the label that teacher j gives to text x
        unknown = ~space.has_label()[:, top]
        others = torch.einsum("ibj,bj->bi", unknown.float(), names_one.float()) > 0
        return answered & none_of_others & others
