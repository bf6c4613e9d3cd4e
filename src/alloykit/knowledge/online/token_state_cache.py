"""Token states in a temporary file, so that epochs and checks read them without a teacher pass.

They are kept as they were computed, float32, those of the first texts that fit into a quarter of the room that the file's folder had
at the beginning. For teachers on a CPU only: carrying so much to a GPU is thought to take longer than computing it there (not measured).
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

import torch
from torch import Tensor
from torch.nn import functional

from alloykit.files import scratch

Key = tuple[str, int]  # a teacher and a text


@dataclass(frozen=True)
class States:
    """What a teacher says of the student's tokens: of one text, or of a padded batch, whose axis comes first.

    `mask`: [L] bool, tokens that have a counterpart; by layer, `tokens`: [L, d] and `scores`: [h, L, L], attention's, or nothing.
    """

    mask: Tensor
    tokens: tuple[Tensor, ...]
    scores: tuple[Tensor, ...] = ()


def unpad(batch: States, lengths: Sequence[int], left: bool) -> list[States]:
    """Each text by itself. `lengths`: its tokens; `left`: that is where padding is."""
    longest, found = batch.mask.shape[1], []
    for n, length in enumerate(lengths):
        own = slice(longest - length, longest) if left else slice(length)
        tokens, scores = tuple(t[n, own] for t in batch.tokens), tuple(s[n, :, own, own] for s in batch.scores)
        found.append(States(batch.mask[n, own], tokens, scores))
    return found


def pad(texts: Sequence[States], left: bool) -> States:
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


def _file() -> IO[bytes]:
    with scratch("token states"):
        return tempfile.TemporaryFile(prefix="alloykit-states-")


def _room() -> int:
    with scratch("token states"):
        return shutil.disk_usage(tempfile.gettempdir()).free // 4  # training and its checks have a file each


@dataclass
class TokenStateCache:
    """States by teacher and text. `room`: bytes at most."""

    room: int = field(default_factory=_room)
    file: IO[bytes] = field(default_factory=_file)
    places: dict[Key, tuple[int, int, list[tuple[int, ...]], list[tuple[int, ...]]]] = field(default_factory=dict)
    end: int = 0

    def get(self, key: Key) -> States | None:
        """What was put there, or None."""
        if key not in self.places:
            return None
        start, length, tokens, scores = self.places[key]
        sizes = [4 * math.prod(shape) for shape in (*tokens, *scores)]
        data = bytearray(os.pread(self.file.fileno(), sum(sizes) + length, start))
        found, at = [], 0
        for size, shape in zip(sizes, (*tokens, *scores), strict=True):
            found.append(torch.frombuffer(data, dtype=torch.float32, count=size // 4, offset=at).view(shape))
            at += size
        mask = torch.frombuffer(data, dtype=torch.bool, count=length, offset=at)
        return States(mask, tuple(found[: len(tokens)]), tuple(found[len(tokens) :]))

    def put(self, key: Key, states: States) -> bool:
        """Keep them if there is room, and say whether there was. A disk that is full after all is no room."""
        parts = (*states.tokens, *states.scores, states.mask)
        data = b"".join(part.contiguous().numpy().tobytes() for part in parts)
        try:
            if self.end + len(data) > self.room or os.pwrite(self.file.fileno(), data, self.end) < len(data):
                return False
        except OSError:
            return False
        shapes = [[tuple(part.shape) for part in some] for some in (states.tokens, states.scores)]
        self.places[key] = (self.end, len(states.mask), shapes[0], shapes[1])
        self.end += len(data)
        return True
