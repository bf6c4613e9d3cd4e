"""Adaptive passes, round by round: which texts of a shard need more, and what came of all of them (ours).

A shard's texts go through the rounds of uncertainty/adaptive.py together. Whether a text is settled depends on all
teachers, so that a round is made by every teacher before the next begins, and can be worked out again from what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.knowledge.store import CHUNK, Store, adaptive_unit, round_unit
from alloykit.uncertainty.adaptive import ROUNDS, Rule, jackknifed_entropy, standard_error

Rows = np.ndarray[Any, Any]


def starts_of(round_: int) -> range:
    """First passes of the chunks that a round adds."""
    return range(ROUNDS[round_ - 1] if round_ else 0, ROUNDS[round_], CHUNK)


@dataclass
class Passes:
    """All single passes of one teacher over some rows of a shard: `single` [K, r, C_i]."""

    rows: Rows
    single: Tensor

    def of(self, rows: Rows) -> Passes:
        return Passes(rows, self.single[:, torch.from_numpy(np.searchsorted(self.rows, rows))])

    def more(self, single: Tensor) -> Passes:
        return Passes(self.rows, torch.cat([self.single, single]))


def open_rows(store: Store, teachers: Sequence[str], shard: int, n_rows: int, rule: Rule, round_: int) -> Rows:
    """Rows of the shard that go into a round: all into the first, later those that no earlier one settled."""
    rows = np.arange(n_rows, dtype=np.int32)
    passes: list[Passes] = []
    for earlier in range(round_):
        if not len(rows):
            break
        passes = _after(store, teachers, shard, rows, passes, earlier)
        settled = _settled(passes, rule)
        rows = rows[~settled.numpy()]
        passes = [p.of(rows) for p in passes]
    return rows


def summarise(store: Store, teachers: Sequence[str], shard: int, n_rows: int, rule: Rule) -> None:
    """Write what methods read: per row the sum over its passes, their number, uncertainty, standard error and variance."""
    rows = np.arange(n_rows, dtype=np.int32)
    passes: list[Passes] = []
    found = [_empty(n_rows, 0) for _ in teachers]
    for round_ in range(len(ROUNDS)):
        if not len(rows):
            break
        passes = _after(store, teachers, shard, rows, passes, round_)
        for i, p in enumerate(passes):
            if not round_:
                found[i] = _empty(n_rows, p.single.shape[-1])
            at = torch.from_numpy(p.rows).long()
            for key, value in _summary(p.single).items():
                found[i][key][at] = value
        rows = rows[~_settled(passes, rule).numpy()]
        passes = [p.of(rows) for p in passes]
    for teacher, tensors in zip(teachers, found, strict=True):
        store.save(adaptive_unit(teacher, shard), tensors)


def _after(
    store: Store, teachers: Sequence[str], shard: int, rows: Rows, passes: list[Passes], round_: int
) -> list[Passes]:
    """All teachers' passes over the open rows once a round was made."""
    found = []
    for i, teacher in enumerate(teachers):
        new = torch.cat([store.load(round_unit(teacher, shard, start))["per_pass"] for start in starts_of(round_)])
        found.append(passes[i].more(new) if passes else Passes(rows, new))
    return found


def _settled(passes: Sequence[Passes], rule: Rule) -> Tensor:
    c = torch.stack([1 - jackknifed_entropy(p.single) for p in passes], -1)
    se = torch.stack([standard_error(p.single, rule.floor) for p in passes], -1)
    return rule.settled(c, se, len(passes[0].single))


def _summary(single: Tensor) -> dict[str, Tensor]:
    k, rows = single.shape[:2]
    return {
        "probability_sum": single.sum(0),
        "passes": torch.full((rows,), k, dtype=torch.int32),
        "uncertainty": jackknifed_entropy(single).float(),
        "standard_error": standard_error(single).float(),
        "variance": single.double().var(0).mean(-1),
    }


def _empty(rows: int, classes: int) -> dict[str, Tensor]:
    return {
        "probability_sum": torch.zeros(rows, classes),
        "passes": torch.zeros(rows, dtype=torch.int32),
        "uncertainty": torch.zeros(rows),
        "standard_error": torch.zeros(rows),
        "variance": torch.zeros(rows, dtype=torch.float64),
    }
