"""Reading short texts and hashing them: one process against two."""

from __future__ import annotations

import os
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
    times, found = dict[int, list[dict[str, float]]](), set[str]()
    for _ in range(ROUNDS):
        for processes in (1, 2):
            read_parallel.processes_for = lambda rows, n=processes: n  # type: ignore[misc]
            begun, before = time.perf_counter(), os.times()
            texts = load_texts(path)
            seconds, after = time.perf_counter() - begun, os.times()
            first = after.user + after.system - before.user - before.system
            others = after.children_user + after.children_system - before.children_user - before.children_system
            cpu = {"first": round(first, 2), "each of the others": round(others / processes, 2)}
            times.setdefault(processes, []).append({"seconds": round(seconds, 2)} | cpu)
            found.add(texts.fingerprint())
    path.unlink()
    best = {n: min(each, key=lambda r: r["seconds"]) for n, each in times.items()}
    return {"texts": TEXTS, "processes": best, "rounds": ROUNDS, "fingerprints": len(found)}


TABLE = Measurement("reading", "reading and hashing texts with one process and with two", run, paper="scale")
