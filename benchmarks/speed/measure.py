"""Shared by all speed measurements: the record, the machine, and times measured in alternation so that noise affects all alike."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from alloykit.json_files import write_json
from alloykit.precision import Precision
from alloykit.progress import log_line
from alloykit.run_folder.run_folder import environment
from benchmarks.harness.results import RESULTS, commit

Run = Callable[[Path, Path], dict[str, Any]]


@dataclass(frozen=True)
class Measurement:
    """One part of `python -m benchmarks speed`. `run(data, work)` returns its figures; settings are the module's constants."""

    options: ClassVar = ()  # it is run as a whole
    name: str
    title: str
    run: Run
    paper: str = "speed"

    @property
    def path(self) -> Path:
        suffix = "-gpu" if device() == "cuda" else ""
        return RESULTS / self.paper / f"{self.name}{suffix}.json"

    def selectable(self) -> tuple[()]:
        return ()

    def fill(self, data: Path, work: Path, *, retry: bool = False, **only: Any) -> None:
        """Measure, unless figures are there already (with `retry` again)."""
        if self.path.exists() and not retry:
            log_line(f"{self.paper} {self.name}: measured already")
            return
        log_line(f"{self.paper} {self.name}: {self.title}")
        begun = time.perf_counter()
        figures = self.run(data, work / self.paper)
        write_json(
            self.path,
            {
                "command": f"python -m benchmarks {self.paper} {self.name}",
                "commit": commit(),
                "machine": machine(),
                "seconds": round(time.perf_counter() - begun),
                "figures": json.loads(json.dumps(figures)),
            },
        )


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def machine() -> dict[str, Any]:
    about = environment()
    return {
        "processor": _processor(),
        "threads": torch.get_num_threads(),
        "gpu": about["gpu"],
        "python": about["python"],
        "torch": about["packages"]["torch"],
        "transformers": about["packages"]["transformers"],
    }


def in_turns(runs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every run in every round, after one round that does not count. All are run in each round."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for n in range(rounds + 1):
        for name, run in runs.items():
            begun = time.perf_counter()
            run()
            if device() == "cuda":
                torch.cuda.synchronize()
            if n:
                times[name].append(time.perf_counter() - begun)
    return times


def ratio(times: dict[str, list[float]], of: str, to: str) -> dict[str, float]:
    """Time of `of` divided by time of `to`: the median over the rounds, and their middle half; of two rounds, both."""
    each = sorted(a / b for a, b in zip(times[of], times[to], strict=True))
    low, *_, high = statistics.quantiles(each, n=4) if len(each) > 2 else (each[0], each[-1])
    return {"ratio": round(statistics.median(each), 3), "from": round(low, 3), "to": round(high, 3)}


def matmul_rate(precision: Precision, size: int = 1536, repeats: int = 6) -> float:
    """Floating-point operations per second of large matrix products: the floor's denominator."""
    size = size * 8 if device() == "cuda" else size
    a, b = (torch.randn(size, size, dtype=getattr(torch, precision), device=device()) for _ in range(2))
    times = in_turns({"product": lambda: a @ b}, repeats)["product"]
    return 2 * size**3 / min(times)


def encoder_flops(config: Any, texts: int, longest: int) -> float:
    """Of one forward pass over texts padded to `longest` tokens: linear layers and attention; everything else is counted as
    nothing. Of the last layer only what a classifier needs: keys and values, and the rest for one token of each text."""
    d, inner = config.hidden_size, config.intermediate_size
    whole = 2 * (4 * d * d + 2 * d * inner) + 4 * longest * d
    return float(texts * (longest * ((config.num_hidden_layers - 1) * whole + 4 * d * d) + whole))


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        if names:
            return f"{names[0]} ({len(names)} cores)"
    return platform.processor() or platform.machine()
