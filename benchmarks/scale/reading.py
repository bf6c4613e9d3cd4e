"""Reading short texts and hashing them: one process against two."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import Measurement

TEXTS, ROUNDS = 1_000_000, 2


def run(data: Path, work: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from alloykit.data import load_texts, read_parallel
    from alloykit.testing import tiny

    work.mkdir(parents=True, exist_ok=True)
    draw, words, path = random.Random(0), list(tiny.WORDS), work / "texts.parquet"
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        for start in range(0, TEXTS, 50_000):
            numbers = range(start, start + 50_000)
            writer.write_table(pa.table({"text": [f"{' '.join(draw.choices(words, k=6))} {n}" for n in numbers]}))
    times, found = dict[int, list[float]](), set[str]()
    for _ in range(ROUNDS):
        for processes in (1, 2):
            read_parallel.processes_for = lambda rows, n=processes: n  # type: ignore[misc]
            begun = time.perf_counter()
            texts = load_texts(path)
            times.setdefault(processes, []).append(round(time.perf_counter() - begun, 2))
            found.add(texts.fingerprint())
    path.unlink()
    return {
        "texts": TEXTS,
        "seconds": {n: min(t) for n, t in times.items()},
        "rounds": times,
        "fingerprints": len(found),
    }


TABLE = Measurement("reading", "reading and hashing texts with one process and with two", run, paper="scale")
