"""Token states in a temporary file, so that epochs and checks read them without a teacher pass.

States are kept in float32, as they were computed. There is room for the states of the first texts: a quarter of the free space that the
file's folder had at the beginning. The cache is for teachers on a CPU only. Copying so much to a GPU probably takes longer than computing it
there (not measured).
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from alloykit.errors import AlloyError
from alloykit.file_errors import scratch
from alloykit.temporary.row_file import RowFile

Key = tuple[str, int]  # a teacher and a text


@dataclass(frozen=True)
class States:
    """A teacher's states at the student's tokens, of one text or of a padded batch (then the batch is the first axis).

    `mask`: [L] bool, tokens that have a counterpart; by layer, `tokens`: [L, d] and `scores`: [h, L, L], attention's, or nothing.
    """

    mask: Tensor
    tokens: tuple[Tensor, ...]
    scores: tuple[Tensor, ...] = ()


def unpad_states(batch: States, lengths: Sequence[int], left: bool) -> list[States]:
    """Each text by itself. `lengths`: its tokens; `left`: that is where padding is."""
    longest, found = batch.mask.shape[1], []
    for n, length in enumerate(lengths):
        real = slice(longest - length, longest) if left else slice(length)
        tokens, scores = tuple(t[n, real] for t in batch.tokens), tuple(s[n, :, real, real] for s in batch.scores)
        found.append(States(batch.mask[n, real], tokens, scores))
    return found


def pad_states(texts: Sequence[States], left: bool) -> States:
    """A padded batch of them; False and zeros where padding is."""
    longest = max(len(text.mask) for text in texts)
    edges = [(longest - len(t.mask), 0) if left else (0, longest - len(t.mask)) for t in texts]
    masks = [functional.pad(text.mask, edge) for text, edge in zip(texts, edges, strict=True)]
    tokens = [
        torch.stack([functional.pad(t, (0, 0, *edge)) for t, edge in zip(layer, edges, strict=True)])
        for layer in zip(*(text.tokens for text in texts), strict=True)
    ]
    scores = [
        torch.stack([functional.pad(s, edge * 2) for s, edge in zip(layer, edges, strict=True)])
        for layer in zip(*(text.scores for text in texts), strict=True)
    ]
    return States(torch.stack(masks), tuple(tokens), tuple(scores))


def _room() -> int:
    with scratch("token states"):
        return shutil.disk_usage(tempfile.gettempdir()).free // 4  # training and its checks have a file each


@dataclass
class TokenStateCache:
    """States by teacher and text. `room`: bytes at most; `rows`: the bytes."""

    room: int = field(default_factory=_room)
    rows: RowFile = field(default_factory=lambda: RowFile("token states"))
    places: dict[Key, tuple[int, int, list[tuple[int, ...]], list[tuple[int, ...]]]] = field(default_factory=dict)

    def get(self, key: Key) -> States | None:
        """What was put there, or None."""
        if key not in self.places:
            return None
        start, length, tokens, scores = self.places[key]
        sizes = [4 * math.prod(shape) for shape in (*tokens, *scores)]
        data = self.rows.between(start, start + sum(sizes) + length)
        found, at = [], 0
        for size, shape in zip(sizes, (*tokens, *scores), strict=True):
            found.append(torch.frombuffer(data, dtype=torch.float32, count=size // 4, offset=at).view(shape))
            at += size
        mask = torch.frombuffer(data, dtype=torch.bool, count=length, offset=at)
        return States(mask, tuple(found[: len(tokens)]), tuple(found[len(tokens) :]))

    def put(self, key: Key, states: States) -> bool:
        """Keep the states. False if there is no room, or if the disk is full."""
        parts = (*states.tokens, *states.scores, states.mask)
        data = np.concatenate([part.contiguous().numpy().reshape(-1).view(np.uint8) for part in parts])
        if len(self.rows) + len(data) > self.room:
            return False
        try:
            start = self.rows.append(data)
        except AlloyError:
            return False
        shapes = [[tuple(part.shape) for part in some] for some in (states.tokens, states.scores)]
        self.places[key] = (start, len(states.mask), shapes[0], shapes[1])
        return True
