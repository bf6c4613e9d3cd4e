"""Batches of texts of similar length, so that there is little padding. The same seed and epoch give the same batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Sampler

WINDOW = 50  # batches whose texts are sorted together; the order is random beyond them


class LengthSampler(Sampler[int]):
    """Positions in random order, sorted by length within windows of `WINDOW` batches, the batches then shuffled.

    `batch_size` counts the texts of an optimiser step, so that accumulated small batches contain the same texts per step as
    one large batch. `lengths`: tokens per text, a sequence or an array. The last, smaller batch of an epoch stays last.
    """

    def __init__(self, lengths: Any, batch_size: int, seed: int) -> None:
        self.lengths = torch.as_tensor(lengths)
        self.batch_size, self.seed, self.epoch = batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the Trainer before each epoch, also when it resumes in the middle of one."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        order = torch.randperm(len(self), generator=generator)
        batches = len(self) // self.batch_size
        for window in order[: batches * self.batch_size].split(self.batch_size * WINDOW):
            window.copy_(window[self.lengths[window].argsort(descending=True, stable=True)])
        for i in torch.randperm(batches, generator=generator):
            yield from order[i * self.batch_size : (i + 1) * self.batch_size].tolist()
        yield from order[batches * self.batch_size :].tolist()
