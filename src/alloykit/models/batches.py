"""Batches of similar length under a budget of tokens: the same plan for the same lengths, always."""

from __future__ import annotations

from collections.abc import Sequence


def token_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group positions so that rows × longest ≤ budget; the longest come first, so that a lack of memory shows at once.

    Ties keep their order. A text longer than the budget gets a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    room = 0
    for i in order:
        if room == 0:
            batches.append([])
            room = max(1, budget // max(1, lengths[i]))
        batches[-1].append(i)
        room -= 1
    return batches
