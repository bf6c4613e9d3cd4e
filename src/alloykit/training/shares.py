"""Each process's share of the batches. All shares together are the batches of one process."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset, Sampler

from alloykit.errors import AlloyError
from alloykit.training.sampler import LengthSampler
from alloykit.training.training_options import TrainingOptions

PADDING = -1  # the position of a text with weight 0, for a process that has fewer batches than another
Collate = Callable[[Sequence[dict[str, Any]]], dict[str, Any]]


def share_of(options: TrainingOptions, processes: int) -> TrainingOptions:
    """The options of each process. A step of all processes together has as many texts as one of a single process, and no batch is larger.

    AlloyError if the number of texts per step is not a multiple of the number of processes."""
    step = options.batch_size * options.accumulate
    if step % processes:
        raise AlloyError(
            expected=f"a number of texts per optimiser step that {processes} processes can share equally",
            got=f"{step} (`training: {{batch_size: {options.batch_size}, accumulate: {options.accumulate}}}`)",
            hint=f"Set `batch_size` to a multiple of {processes}, or start another number of processes.",
        )
    mine = step // processes
    least = -(-mine // options.batch_size)
    accumulate = next(n for n in range(least, mine + 1) if mine % n == 0)
    return options.model_copy(update={"batch_size": mine // accumulate, "accumulate": accumulate})


def share(texts: Sequence[int], size: int, rank: int, processes: int) -> list[list[int]]:
    """One process's batches of an optimiser step. Every process has the same number of them, of at most `size` texts.

    texts: positions of the step's texts, of all processes. A batch that would be empty is `[PADDING]`."""
    parts = np.array_split(np.asarray(texts, dtype=np.int64), processes)
    mine, batches = parts[rank], math.ceil(len(parts[0]) / size)
    full = min(batches, len(mine))
    filled = [part.tolist() for part in np.array_split(mine, full)] if full else []
    return filled + [[PADDING]] * (batches - full)


class ShareOfBatches(Sampler[list[int]]):
    """One process's batches of an epoch, in the order of `whole`. The `batch_size` of `whole` is the number of texts of a step in all processes."""

    def __init__(self, whole: LengthSampler, size: int, rank: int, processes: int) -> None:
        self.whole, self.size, self.rank, self.processes = whole, size, rank, processes

    def set_epoch(self, epoch: int) -> None:
        self.whole.set_epoch(epoch)

    def __len__(self) -> int:
        steps, rest = divmod(len(self.whole), self.whole.batch_size)
        per_step = self.whole.batch_size // self.processes // self.size
        return steps * per_step + math.ceil(math.ceil(rest / self.processes) / self.size)

    def __iter__(self) -> Iterator[list[int]]:
        positions = iter(self.whole)
        while texts := list(islice(positions, self.whole.batch_size)):
            yield from share(texts, self.size, self.rank, self.processes)


class SharedLoader(DataLoader[Any]):
    """Loads one process's batches. `counted` in a batch: how many of its texts count, 0 for padding."""

    def __init__(self, dataset: Any, batches: ShareOfBatches, collate: Collate, *, pin_memory: bool) -> None:
        super().__init__(_Padded(dataset), batch_sampler=batches, collate_fn=_Counting(collate), pin_memory=pin_memory)

    def set_epoch(self, epoch: int) -> None:
        """Called by the Trainer before each epoch."""
        self.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]


class _Padded(Dataset[dict[str, Any]]):
    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, i: int) -> dict[str, Any]:
        return self.dataset[0] | {"padding": True} if i == PADDING else self.dataset[i]  # type: ignore[no-any-return]


class _Counting:
    def __init__(self, collate: Collate) -> None:
        self.collate = collate

    def __call__(self, features: Sequence[dict[str, Any]]) -> dict[str, Any]:
        counted = sum("padding" not in f for f in features)
        return self.collate([{k: v for k, v in f.items() if k != "padding"} for f in features]) | {"counted": counted}
