"""How many times as fast as PyTorch in float32 every number format is, with one and with two threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from alloykit.exporting.opened_graph import opened_graph
from alloykit.progress import hushed
from benchmarks.export.graphs import FORMATS, subject
from benchmarks.speed.measure import Measurement, in_turns, ratio

THREADS, TIMED, ROUNDS = (1, 2), 128, 7
PYTORCH = "PyTorch"


def run(data: Path, work: Path) -> dict[str, Any]:
    about = subject(data, work)
    texts, before, load = about.texts[:TIMED], torch.get_num_threads(), round(os.getloadavg()[0], 1)
    found: dict[str, Any] = {}
    try:
        for threads in THREADS:
            torch.set_num_threads(threads)  # a session takes this number, too
            runs: dict[str, Callable[[], Any]] = {PYTORCH: lambda: about.student.probabilities(texts)}
            for name in FORMATS:
                graph = opened_graph(about.graphs[name], about.student)
                runs[name] = lambda graph=graph: graph.probabilities(texts)  # type: ignore[misc]
            with hushed():
                times = in_turns(runs, ROUNDS)
            found[str(threads)] = {
                PYTORCH: {"texts_per_second": round(TIMED / min(times[PYTORCH]), 1)},
                **{name: ratio(times, PYTORCH, name) for name in FORMATS},
            }
    finally:
        torch.set_num_threads(before)
    return {"texts": TIMED, "rounds": ROUNDS, "load": load, "instructions": instructions(), "threads": found}


def instructions() -> list[str]:
    """The vector instructions of the processor that matter for 8-bit products."""
    path = Path("/proc/cpuinfo")
    words = set(path.read_text().split()) if path.exists() else set[str]()
    return [name for name in ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "amx_int8") if name in words]


TABLE = Measurement("speed", "times as fast as PyTorch, with one and with two threads", run, "export")
