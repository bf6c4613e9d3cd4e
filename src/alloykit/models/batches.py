"""Batches of similar length under a budget of tokens. The same lengths always give the same batches."""

from __future__ import annotations

from collections.abc import Sequence


def token_batches(lengths: Sequence[int], budget: int, *, one_length: bool = False) -> list[list[int]]:
    """Group the positions of texts so that rows × longest ≤ budget. The longest come first, so that an out-of-memory error happens at once.

    lengths: tokens of each text. budget: tokens of a batch with its padding. one_length: no batch has texts of different lengths.

    Equal lengths keep their order. A text longer than the budget is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    free = 0
    for i in order:
        if free == 0 or (one_length and lengths[batches[-1][0]] != lengths[i]):
            batches.append([])
            free = max(1, budget // max(1, lengths[i]))
        batches[-1].append(i)
        free -= 1
    return batches
