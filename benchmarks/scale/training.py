"""The student of two processes that Ray Train starts, beside that of one process; once undisturbed, once with one of the two killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from alloykit.progress import log_line
from benchmarks.speed.measure import Measurement

TEXTS, EPOCHS, LONGEST = 1280, 8, 420.0


def run(data: Path, work: Path) -> dict[str, Any]:
    from benchmarks.scale.cluster import Nodes

    folder = work / "training"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows = []
    _start(folder, "one", 0, "").wait(LONGEST)
    nodes = Nodes()
    try:
        for name in ("two", "killed"):
            begun, process = time.perf_counter(), _start(folder, name, 2, nodes.address)
            killed = _kill_one(process, folder / name) if name == "killed" else 0
            process.communicate(timeout=LONGEST)
            rows.append(
                {
                    "run": name, "killed": killed, "exit": process.returncode,
                    "seconds": round(time.perf_counter() - begun, 1), **_differences(folder / "one", folder / name),
                }
            )  # fmt: skip
            log_line(str(rows[-1]))
    finally:
        nodes.cluster.shutdown()
    shutil.rmtree(folder)
    return {"texts": TEXTS, "epochs": EPOCHS, "runs": rows}


def _start(folder: Path, name: str, trainers: int, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.scale.training", str(folder), name, str(trainers), address]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def _kill_one(process: subprocess.Popen[str], run: Path) -> int:
    """kill -9 of a training process, when the first checkpoint is there. Returns how many were killed."""
    while process.poll() is None:
        if len(list(run.glob("training/**/checkpoint-*/alloykit_complete.json"))) >= 1:
            trainers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _trains(path)]
            for number in trainers[-1:]:
                os.kill(number, signal.SIGKILL)
            return len(trainers[-1:])
        time.sleep(0.05)
    return 0


def _trains(process: Path) -> bool:
    with suppress(OSError):
        line = (process / "cmdline").read_text()
        return line.startswith("ray::") and "TrainWorker" in line
    return False


def _differences(one: Path, other: Path) -> dict[str, Any]:
    """The largest difference of a weight and of a probability, and the share of texts with the same label."""
    import safetensors.torch

    from alloykit.commands.predict import predict
    from alloykit.testing import tiny

    if not (other / "student" / "model.safetensors").exists():
        return {"weights": None, "probabilities": None, "labels": None}
    a, b = (safetensors.torch.load_file(path / "student" / "model.safetensors") for path in (one, other))
    texts = tiny.texts(400, seed=1)
    p, q = (list(predict(run, texts, all_probabilities=True)) for run in (one, other))
    same = [x["label"] == y["label"] for x, y in zip(p, q, strict=True)]
    pairs = [(x["probabilities"], y["probabilities"]) for x, y in zip(p, q, strict=True)]
    return {
        "weights": float(max((a[k] - b[k]).abs().max() for k in a)),
        "probabilities": max(abs(x[label] - y[label]) for x, y in pairs for label in x),
        "labels": sum(same) / len(same),
    }


def one(folder: Path, name: str, trainers: str, address: str) -> None:
    """A run, in a process of its own."""
    import torch

    import alloykit
    from alloykit.testing import tiny

    torch.set_num_threads(1)
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    for n, labels in enumerate((["a", "b"], ["c", "d", "e"])):
        if not (folder / f"teacher{n}").exists():
            tiny.classifier(folder / f"teacher{n}", labels, "bert", seed=n)
    if not (folder / "encoder").exists():
        tiny.encoder(folder / "encoder", **quiet)
        (folder / "texts.txt").write_text("\n".join(tiny.texts(TEXTS)))
    alloykit.amalgamate(
        [folder / "teacher0", folder / "teacher1"], folder / "texts.txt", {"model": str(folder / "encoder")}, "vanilla_kd",
        training={"epochs": EPOCHS, "learning_rate": 1e-3, "batch_size": 16, "max_length": 16, "select": "last", "check_every": 40},
        engine={"name": "ray", "address": address, "workers": 1, "trainers": int(trainers)} if address else None,
        output=folder / name,
    )  # fmt: skip


TABLE = Measurement("training", "two training processes of Ray Train beside one process", run, paper="scale")

if __name__ == "__main__":
    one(Path(sys.argv[1]), *sys.argv[2:])
