"""Pools in which some texts come again and again, as in logs and mails: targets on the set's test texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.alloy.targets_of_files import OWN, targets_of_files
from benchmarks.harness.data import read, write
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

REPEATS = ((0.2, 10), (0.02, 100), (0.002, 1000))  # this share of the texts, so many times each
SAME, NUMBERED = "word for word", "with another number"


def run(data: Path, work: Path) -> dict[str, Any]:
    return targets_of_files(data, work, _files)


def _files(stages: Stages, folder: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    texts = list(read(stages.pool("disjoint"))["text"])
    for at, (about, pool) in enumerate(pools(texts)):
        path = folder / f"repeated-{at}.parquet"
        write({"text": pool, "label": [None] * len(pool)}, path)
        yield about, path


def pools(texts: list[str]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """The pool itself; then a share of its texts many times, word for word or each time after another number. The order is random."""
    yield {"kind": OWN, "share": 0.0, "times": 1}, texts
    for share, times in REPEATS:
        for kind in (SAME, NUMBERED):
            chance = random.Random(0)
            some = chance.sample(texts, max(1, round(share * len(texts))))
            more = [text if kind == SAME else f"{chance.randrange(10**5)} : {text}" for text in some * (times - 1)]
            pool = texts + more
            chance.shuffle(pool)
            yield {"kind": kind, "share": share, "times": times}, pool


TABLE = Measurement("repeated", "pools in which texts repeat", run, "alloy")
