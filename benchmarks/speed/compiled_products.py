"""Memory and time of training with and without our limit for oneDNN's compiled matrix products, in turns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from alloykit.models.primitive_cache import CAPACITY, VARIABLES
from benchmarks.speed.many_lengths import BATCH, LONGEST, STEPS
from benchmarks.speed.measure import Measurement

DEFAULT = 1024  # oneDNN's own
ROUNDS = 2


def run(data: Path, work: Path) -> dict[str, Any]:
    runs = []
    for _ in range(ROUNDS):
        for capacity in (CAPACITY, DEFAULT):
            folder = work / "compiled_products"
            shutil.rmtree(folder, ignore_errors=True)
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.speed.many_lengths", str(folder)],
                env=os.environ | {VARIABLES[0]: str(capacity)}, capture_output=True, text=True, check=True,
            )  # fmt: skip
            runs.append({"capacity": capacity} | json.loads(done.stdout.splitlines()[-1]))
            shutil.rmtree(folder, ignore_errors=True)
    return {"runs": runs, "steps": STEPS, "batch": BATCH, "longest": LONGEST}


TABLE = Measurement("compiled_products", "memory of training with batches of many lengths", run)
