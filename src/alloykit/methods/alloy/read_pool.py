"""The texts that a mixture is fitted to, read from the pool once (ours: Alloy)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.methods.alloy.repeated import DIMENSIONS, repeated
from alloykit.methods.alloy.states import StateSpace, raw_states
from alloykit.outputs import Rows, Sample, Source, chunks, sample
from alloykit.stats.sampled_positions import sampled_positions

MORE = 4  # times as many texts are read if less than half of `size` can be used


@dataclass(frozen=True)
class ReadPool:
    """Some texts of the pool. batches: their rows, in order; positions [n]: in the pool; states [n, d]: raw, the first `of_teachers` columns are the
    teachers'; repeats [n] bool: which texts repeat others; used [n] bool: to which the mixture is fitted; others: Eq. 1 with D = 128, fitted to the texts that
    do not repeat others."""

    batches: list[Rows]
    positions: Tensor
    states: Tensor
    of_teachers: int
    repeats: Tensor
    used: Tensor
    others: StateSpace

    @classmethod
    def of(cls, pool: Source, size: int) -> ReadPool:
        """At most `size` texts are used, and none that repeats others. If that leaves less than half of `size`, more of a larger pool is read."""
        read = cls._of(sample(pool, size), size)
        if 2 * int(read.used.sum()) < size < len(pool):
            return cls._of(sample(pool, MORE * size), size)
        return read

    @classmethod
    def _of(cls, texts: Sample, size: int) -> ReadPool:
        batches = list(chunks(texts))
        read = [raw_states(rows) for rows in batches]
        states, of_teachers = torch.cat([raw for raw, _ in read]), read[0][1]
        repeats, others = repeated(states, of_teachers)
        left, used = (~repeats).nonzero().squeeze(1), torch.zeros_like(repeats)
        used[left[torch.from_numpy(sampled_positions(len(left), size))]] = True
        return cls(batches, texts.positions, states, of_teachers, repeats, used, others)

    def texts_used(self, pool: Source) -> Source:
        """The pool itself, from which this was read; if texts repeat others, those of its texts that are used."""
        return Sample(pool, self.positions[self.used]) if bool(self.repeats.any()) else pool

    def state_space(self, dimensions: int) -> StateSpace:
        """Eq. 1, fitted to the texts that are used."""
        if dimensions == DIMENSIONS and bool((self.used == ~self.repeats).all()):
            return self.others
        return StateSpace.fit(self.states[self.used], self.of_teachers, dimensions)
