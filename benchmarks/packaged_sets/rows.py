"""Texts with their labels, made clean and written in the form of DATA.md."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.harness.data import write
from benchmarks.harness.data_set import DataSet

Rows = list[tuple[str, str]]  # text, label
TEST, VALIDATION = 0.2, 0.05  # of the texts of a set that has no split of its own
MOST = {"test": 2000, "validation": 500}


def distinct(rows: Iterable[tuple[str, str]], taken: Iterable[str] = ()) -> Rows:
    """One row for each text that is not empty and not `taken`, compared without case. White space becomes one blank. A text with two labels is dropped."""
    found: dict[str, tuple[str, set[str]]] = {}
    for text, label in rows:
        plain = " ".join(text.split())
        found.setdefault(plain.lower(), (plain, set()))[1].add(label)
    left_out = {"", *taken}
    return [
        (text, next(iter(labels))) for key, (text, labels) in found.items() if len(labels) == 1 and key not in left_out
    ]


def sizes(rows: Rows) -> dict[str, int]:
    """How many texts the test and the validation part have in a set that has no split of its own."""
    wanted = {"test": TEST, "validation": VALIDATION}
    return {part: min(MOST[part], int(share * len(rows))) for part, share in wanted.items()}


def put(
    target: Path, dataset: DataSet, rows: Rows, sizes: dict[str, int], test: Sequence[tuple[str, str]] = ()
) -> None:
    """Write the parts: as many rows as `sizes` says of each, drawn at random, the others for training."""
    rows = random.Random(dataset.name).sample(rows, len(rows))
    parts, used = {"test": list(test)}, 0
    for part, size in sizes.items():
        parts[part], used = rows[used : used + size], used + size
    parts["train"] = rows[used:]
    for part, kept in parts.items():
        labels = [dataset.labels.index(label) for _, label in kept]
        write({"text": [text for text, _ in kept], "label": labels}, target / f"{part}.parquet")
    (target / "info.json").write_text(json.dumps({"label_names": list(dataset.labels)}, indent=1), encoding="utf-8")
