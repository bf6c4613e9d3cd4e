"""Sweeps of many short synthetic texts by two tiny teachers: time, peak memory, and bytes against those that `plan` announces."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.json_files import write_json
from alloykit.progress import log_line
from benchmarks.speed.measure import Measurement
from benchmarks.speed.peak import peak

TEXTS = (100_000, 300_000, 1_000_000, 10_000_000)
WORDS = 6  # per text, and a number that makes it different from the others


def run(data: Path, work: Path) -> dict[str, Any]:
    sizes = []
    for n in TEXTS:
        kept = work / f"growth-{n}.json"  # a run that was stopped goes on with the next size
        if not kept.exists():
            write_json(kept, _in_process(n, work / "growth"))
        sizes.append(json.loads(kept.read_text()))
        log_line(str(sizes[-1]))
    for n in TEXTS:
        (work / f"growth-{n}.json").unlink()
    x, y = np.log([s["texts"] for s in sizes]), np.log([s["cpu_seconds"] for s in sizes])
    return {"sizes": sizes, "slope": round(float(np.polyfit(x, y, 1)[0]), 3)}


def _in_process(texts: int, work: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale.growth", str(texts), str(work)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def one(texts: int, work: Path) -> dict[str, Any]:
    """In a process of its own, so that its peak of memory is that of this size."""
    import shutil

    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch

    from alloykit.planning.plan_run import plan_recipe
    from alloykit.recipe.read_recipe import parse
    from alloykit.recipe.recipe import Recipe
    from alloykit.stages.sweeping import sweep_recipe
    from alloykit.testing import tiny

    torch.set_num_threads(1)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    teachers = [("a", "b", "c"), ("d", "e")]
    folders = [work / f"teacher{n}" for n in range(len(teachers))]
    for n, (folder, labels) in enumerate(zip(folders, teachers, strict=True)):
        tiny.classifier(folder, labels, "bert", seed=n)
    draw, words, path = random.Random(0), list(tiny.WORDS), work / "texts.parquet"
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        for start in range(0, texts, 10_000):
            numbers = range(start, min(start + 10_000, texts))
            writer.write_table(pa.table({"text": [f"{' '.join(draw.choices(words, k=WORDS))} {n}" for n in numbers]}))
    values = {
        "teachers": [str(folder) for folder in folders], "texts": str(path), "method": "vanilla_kd",
        "student": {"model": str(folders[0])}, "training": {"max_length": 16}, "output": str(work / "run"),
    }  # fmt: skip
    recipe, before = parse(values, Recipe), peak()
    planned = plan_recipe(recipe, probe=False)["cache_bytes"]
    begun, cpu = time.perf_counter(), _cpu_seconds()
    sweep_recipe(recipe)
    seconds, cpu = time.perf_counter() - begun, _cpu_seconds() - cpu
    files = [file for file in (work / "run" / "cache").rglob("*") if file.is_file() and file.name != "run.log"]
    found = {
        "texts": texts,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_mb": round(peak()),
        "peak_before_mb": round(before),
        "planned_bytes": planned,
        "written_bytes": sum(file.stat().st_size for file in files),
        "files": len(files),
    }
    shutil.rmtree(work)
    return found


def _cpu_seconds() -> float:
    """Of this process and of those that it has started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


TABLE = Measurement("growth", "time, memory and bytes against the number of texts", run, paper="scale")

if __name__ == "__main__":
    print(json.dumps(one(int(sys.argv[1]), Path(sys.argv[2]))))
