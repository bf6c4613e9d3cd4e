"""Training on all cores while other programs are busy: with the command line's way of waiting, and with torch's own."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import Measurement

WAYS = ("alloykit", "default")
OTHERS = (0, 1, 2)  # busy programs beside it
ROUNDS, SECONDS = 3, 8
UNSET = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def run(data: Path, work: Path) -> dict[str, Any]:
    found = []
    for others in OTHERS:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
        try:
            speed: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(ROUNDS):  # in turns: other work on the machine affects both alike
                for way in WAYS:
                    speed[way].append(_steps_per_second(way))
        finally:
            for program in busy:
                program.kill()
                program.wait()
        found.append({"others": others} | {way: round(statistics.median(each), 2) for way, each in speed.items()})
    return {"rounds": ROUNDS, "seconds": SECONDS, "cores": os.cpu_count(), "loads": found}


def _steps_per_second(way: str) -> float:
    command = [sys.executable, "-m", "benchmarks.speed.training_steps", way, str(SECONDS)]
    environment = {key: value for key, value in os.environ.items() if key not in UNSET}
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


TABLE = Measurement("busy", "training while other programs are busy", run)
