"""Reading short texts and hashing them: one process against two. And reading texts that are not copied in the order of training."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.speed.measure import Measurement

TEXTS, ROUNDS = 1_000_000, 2
UNCOPIED, GROUPS = 4_000_000, (10_000, 131_072, 1_048_576)  # texts; rows of a row group
AT_ONCE = 50_000


def run(data: Path, work: Path) -> dict[str, Any]:
    work.mkdir(parents=True, exist_ok=True)
    formats = {kind: _processes(work / f"texts.{kind}") for kind in ("parquet", "csv", "jsonl")}
    return {
        "texts": TEXTS, "rounds": ROUNDS, "formats": formats,
        "uncopied": {"texts": UNCOPIED, "groups": {n: _uncopied(work / "texts.parquet", n) for n in GROUPS}},
    }  # fmt: skip


def _processes(path: Path) -> dict[str, Any]:
    from alloykit.data import load_texts, read_in_pieces

    _write(path, TEXTS)
    times, found = dict[int, list[dict[str, float]]](), set[str]()
    for _ in range(ROUNDS):
        for processes in (1, 2):
            read_in_pieces.processes_for = lambda rows, n=processes: n  # type: ignore[misc]
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
    return {"processes": best, "fingerprints": len(found)}


def _uncopied(path: Path, group: int) -> dict[str, float]:
    """One epoch's texts in the sampler's order, read from the file."""
    from alloykit.data import load_texts, piece_collector, pieces_table, read_in_pieces
    from alloykit.data.parquet_files import OpenParquet
    from alloykit.training.sampler import LengthSampler

    _write(path, UNCOPIED, group)
    piece_collector.COPIED = 0  # type: ignore[attr-defined]
    read_in_pieces.processes_for = lambda rows: 1  # type: ignore[misc]
    table, groups = load_texts(path).table, list[int]()
    assert isinstance(table, pieces_table.PiecesTable)
    batches = OpenParquet.batches
    OpenParquet.batches = lambda self, n, size: (groups.append(n), batches(self, n, size))[1]  # type: ignore[method-assign]
    begun = time.process_time()
    for part in LengthSampler(range(UNCOPIED), 32, 0).parts(torch.Generator().manual_seed(0)):
        table.hold(part.numpy(), ["text"])
    seconds = time.process_time() - begun
    reads = len(groups) / -(-UNCOPIED // group)
    OpenParquet.batches = batches  # type: ignore[method-assign]
    path.unlink()
    return {
        "reads of a row group": round(reads, 2),
        "microseconds per text": round(1e6 * seconds / UNCOPIED, 2),
    }


def _write(path: Path, texts: int, group: int = AT_ONCE) -> None:
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
            for some in _texts(texts, group):
                writer.write_table(pa.table({"text": some}), row_group_size=group)
        return
    with path.open("w", encoding="utf-8") as file:
        file.write("text\n" if path.suffix == ".csv" else "")
        for some in _texts(texts, AT_ONCE):
            file.writelines(f"{text if path.suffix == '.csv' else json.dumps({'text': text})}\n" for text in some)


def _texts(texts: int, size: int) -> Iterator[list[str]]:
    from alloykit.testing import tiny

    draw, words = random.Random(0), list(tiny.WORDS)
    for start in range(0, texts, size):
        yield [f"{' '.join(draw.choices(words, k=6))} {n}" for n in range(start, min(start + size, texts))]


TABLE = Measurement("reading", "reading and hashing texts with one process and with two; texts that are not copied", run, paper="scale")  # fmt: skip
