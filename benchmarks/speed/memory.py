"""Peak resident memory at 10,000 and at 1,000,000 texts, each in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import Measurement

SIZES = (10_000, 100_000, 1_000_000)


def run(data: Path, work: Path) -> dict[str, Any]:
    rows = []
    for texts in SIZES:
        folder = work / "bounded"
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "benchmarks.speed.bounded", str(texts), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        shutil.rmtree(folder, ignore_errors=True)
    return {"runs": rows, "growth": round(rows[-1]["peak_mb"] / rows[0]["peak_mb"], 3)}


TABLE = Measurement("memory", "peak resident memory of sweep and training, by number of texts", run)
