"""A problem that a tiny encoder can learn: every label has words of its own among words of no label."""

from __future__ import annotations

import random
from pathlib import Path

from commandline import write_csv

KEYS = {
    "refund": ("refund", "money"),
    "charge": ("charge", "card"),
    "invoice": ("invoice", "bill"),
    "track": ("parcel", "late"),
    "damaged": ("broken", "box"),
}
LABELS = tuple(KEYS)  # also the union of the two teachers of tests/conftest.py
TEAMS = {"billing": LABELS[:3], "delivery": LABELS[3:]}
FILLERS = (
    "please", "my", "the", "is", "was", "a", "not", "again", "why", "where", "how",
    "i", "you", "we", "to", "it", "and", "for", "on", "of", "in", "with", "me",
)  # fmt: skip


def examples(n: int, seed: int = 0, labels: tuple[str, ...] = LABELS) -> list[tuple[str, str]]:
    """n different (text, label), as many of each label, shuffled."""
    draw = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < n:
        label = labels[len(found) % len(labels)]
        words = [*draw.sample(FILLERS, draw.randint(2, 5)), *draw.choices(KEYS[label], k=2)]
        draw.shuffle(words)
        found.setdefault(" ".join(words), label)
    pairs = list(found.items())
    draw.shuffle(pairs)
    return pairs


def labelled(path: Path, n: int, seed: int = 0, labels: tuple[str, ...] = LABELS) -> Path:
    return write_csv(path, examples(n, seed, labels), ("text", "label"))
