"""Pools in which some texts come again and again, as in logs and mails: targets on the set's test texts. No students. In float32."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alloykit.progress import log_line
from benchmarks.alloy.other_topics import NAMES, SEED
from benchmarks.alloy.settings import CHOICE, set_of, settings
from benchmarks.alloy.students import TABLE as STUDENTS
from benchmarks.alloy.targets_of_a_file import targets_of_a_file
from benchmarks.harness.data import read, write
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

REPEATS = ((0.2, 10), (0.02, 100), (0.002, 1000))  # this share of the texts, so many times each
OWN, SAME, NUMBERED = "own", "word for word", "with another number"


def run(data: Path, work: Path) -> dict[str, Any]:
    found = []
    for name in NAMES:
        setting = next(s for s in settings() if s.name == name)
        stages = Stages(data, work.parent, setting, STUDENTS.sized, SEED, passes=0)
        about = {"setting": name, "title": setting.title, "choice": set_of(setting) in CHOICE}
        texts = list(read(stages.pool("disjoint"))["text"])
        for at, (kind, share, times, pool) in enumerate(pools(texts)):
            path = work / "repeated" / name / f"{at}.parquet"
            write({"text": pool, "label": [None] * len(pool)}, path)
            found.append(about | {"kind": kind, "share": share, "times": times} | targets_of_a_file(stages, path))
            log_line(str(found[-1]))
    return {"pools": found}


def pools(texts: list[str]) -> Iterator[tuple[str, float, int, list[str]]]:
    """The pool itself; then a share of its texts many times, word for word or each time after another number. The order is random."""
    yield OWN, 0.0, 1, texts
    for share, times in REPEATS:
        for kind in (SAME, NUMBERED):
            chance = random.Random(0)
            some = chance.sample(texts, max(1, round(share * len(texts))))
            more = [text if kind == SAME else f"{chance.randrange(10**5)} : {text}" for text in some * (times - 1)]
            pool = texts + more
            chance.shuffle(pool)
            yield kind, share, times, pool


TABLE = Measurement("repeated", "pools in which texts repeat", run, "alloy")
