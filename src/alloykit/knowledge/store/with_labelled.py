"""The pool's outputs followed by those of a few labelled texts, as one source to train on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alloykit.outputs import Rows, Source

UNKNOWN = -1


@dataclass(frozen=True)
class WithLabelled:
    """Positions 0 … len(pool) − 1 are the pool's texts; the labelled texts follow. Rows have `given`: `labels` for the labelled
    texts, [m] int64 or [m, C] bool, and −1 for the pool's."""

    pool: Source
    labelled: Source
    labels: Tensor

    def __len__(self) -> int:
        return len(self.pool) + len(self.labelled)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        at = torch.as_tensor(indices)
        known = at >= len(self.pool)
        given = torch.full((len(at), *self.labels.shape[1:]), UNKNOWN)
        given[known] = self.labels[at[known] - len(self.pool)].long()
        parts = []
        if not known.all():
            parts.append((self.pool.rows(at[~known]), torch.nonzero(~known).squeeze(1)))
        if known.any():
            parts.append((self.labelled.rows(at[known] - len(self.pool)), torch.nonzero(known).squeeze(1)))
        batches = [{k: v for k, v in rows.to_batch().items() if k != "labels"} for rows, _ in parts]
        _mark_answered(batches)
        order = torch.cat([where for _, where in parts]).argsort()
        return Rows.from_batch(_interleaved(batches, order) | {"given": given})


def _mark_answered(batches: Sequence[Mapping[str, Any]]) -> None:
    """A teacher without an answer to some texts of one batch gets `answered` in the other ones too."""
    for teachers in zip(*(batch["teachers"] for batch in batches), strict=True):
        if any("answered" in teacher for teacher in teachers):
            for teacher in teachers:
                teacher.setdefault("answered", torch.ones(len(teacher["logits"]), dtype=torch.bool))


def _interleaved(parts: Sequence[Any], order: Tensor) -> Any:
    """Nested tensors of several batches, one after another, then in the order given."""
    first = parts[0]
    if isinstance(first, Tensor):
        return torch.cat(list(parts))[order]
    if isinstance(first, Mapping):
        return {key: _interleaved([part[key] for part in parts], order) for key in first}
    return type(first)(_interleaved([part[i] for part in parts], order) for i in range(len(first)))
