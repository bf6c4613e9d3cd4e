"""`generate` by the two workers of a Ray cluster, beside one process: undisturbed, and with a worker killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.scale.nodes import Nodes

LONGEST, PER_CLASS, BATCH, TOKENS = 300.0, 16, 8, 12


def written_texts(folder: Path, nodes: Nodes) -> dict[str, Any]:
    """How many texts there are, and how many are different from those of one process."""
    import pyarrow.parquet as pq

    from alloykit.testing import tiny

    for n in range(2):
        tiny.classifier(folder / f"writes{n}", ("a", "b", "c"), "bert", seed=n)
    tiny.language_model(folder / "lm")
    one, _ = _generate(folder, "one", "", None)
    whole, runs = pq.read_table(one).to_pylist(), {}
    for name, killed in (("two workers", None), ("two workers, one of them killed", nodes)):
        path, happened = _generate(folder, name.replace(" ", "-"), nodes.address, killed)
        found = pq.read_table(path).to_pylist()
        different = sum(a != b for a, b in zip(found, whole, strict=False)) + abs(len(found) - len(whole))
        runs[name] = {"texts": len(found), "different": different, "killed": happened}
    return {"texts": len(whole), "runs": runs}


def _generate(folder: Path, name: str, address: str, killed: Nodes | None) -> tuple[Path, int]:
    """(file of texts, workers killed)"""
    output, happened = folder / f"texts-{name}", 0
    recipe = folder / f"{name}.yaml"
    recipe.write_text(
        f"teachers: [{folder / 'writes0'}, {folder / 'writes1'}]\n"
        f"generation: {{language_model: {folder / 'lm'}, per_class: {PER_CLASS}, batch_size: {BATCH}, max_tokens: {TOKENS}}}\n"
        f"max_length: 32\noutput: {output}\n"
        + (f"engine: {{name: ray, address: '{address}', workers: 2}}\n" if address else "")
    )
    command = [sys.executable, "-m", "alloykit", "generate", str(recipe)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while killed is not None and not happened and process.poll() is None:
        workers = killed.workers()
        if workers and len(list(output.glob("batches/**/*.json"))) >= 2:
            os.kill(workers[0], signal.SIGKILL)
            happened = 1
        time.sleep(0.05)
    _, said = process.communicate(timeout=LONGEST)
    if process.returncode:
        raise RuntimeError(said)
    return output / "texts.parquet", happened
