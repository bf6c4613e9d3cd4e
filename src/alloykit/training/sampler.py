"""Batches of texts of similar length, so that there is little padding. The same seed and epoch give the same batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from alloykit.stats.sampled_positions import FEW

WINDOW = 50  # batches whose texts are sorted together; the order is random beyond them
BLOCK = (
    1 << 14
)  # texts that lie one after another; a row group of Parquet that has many is read once for each of its blocks
BLOCKS = 64  # blocks whose texts are shuffled together


class LengthSampler(Sampler[int]):
    """Positions in random order, sorted by length within windows of `WINDOW` batches, the batches then shuffled.

    `batch_size` counts the texts of an optimiser step, so that accumulated small batches contain the same texts per step as
    one large batch. `lengths`: tokens per text, a sequence, or anything that an array of positions can index. The last, smaller batch of an
    epoch stays last.

    More than `FEW` texts are shuffled in parts: blocks of texts in random order, and the texts of `BLOCKS` blocks in random order. So memory
    does not grow with the texts, and texts that are read together lie together in their files. `lengths` is asked for all positions of a part
    before the first of them comes.
    """

    def __init__(self, lengths: Any, batch_size: int, seed: int) -> None:
        self.lengths = np.asarray(lengths) if isinstance(lengths, Sequence) else lengths
        self.batch_size, self.seed, self.epoch = batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the Trainer before each epoch, also when it resumes in the middle of one."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        order = torch.empty(0, dtype=torch.int64)
        for part in self.parts(generator):
            order = torch.cat([order, part])
            batches = len(order) // self.batch_size
            lengths = torch.as_tensor(self.lengths[order.numpy()])  # all at once: they may be read from the texts
            end, step = batches * self.batch_size, self.batch_size * WINDOW
            for window, its in zip(order[:end].split(step), lengths[:end].split(step), strict=True):
                window.copy_(window[its.argsort(descending=True, stable=True)])
            for i in torch.randperm(batches, generator=generator):
                yield from order[i * self.batch_size : (i + 1) * self.batch_size].tolist()
            order = order[batches * self.batch_size :]
        yield from order.tolist()

    def parts(self, generator: torch.Generator) -> Iterator[Tensor]:
        """All positions in random order, [·] int64 each."""
        n = len(self)
        if n <= FEW:
            yield torch.randperm(n, generator=generator)
            return
        for blocks in torch.randperm(-(-n // BLOCK), generator=generator).split(BLOCKS):
            part = (blocks[:, None] * BLOCK + torch.arange(BLOCK)).flatten()
            part = part[part < n]
            yield part[torch.randperm(len(part), generator=generator)]
