"""The student of two processes, beside that of one process; undisturbed, and with one of the two killed. Ray Train starts them, or torchrun with FSDP."""

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
    from benchmarks.scale.nodes import Nodes

    folder = work / "training"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows = []
    _start(folder, "one", 0, "").wait(LONGEST)
    nodes = Nodes()
    try:
        for name in ("two", "killed", "fsdp", "fsdp_killed"):
            begun, process, starts = time.perf_counter(), _start(folder, name, 2, nodes.address), 1
            killed = _kill_one(process, folder / name) if name.endswith("killed") else 0
            process.communicate(timeout=LONGEST)
            if killed and process.returncode and name.startswith("fsdp"):  # torchrun does not start them again
                process, starts = _start(folder, name, 2, nodes.address), 2
                process.communicate(timeout=LONGEST)
            rows.append(
                {
                    "run": name, "killed": killed, "starts": starts, "exit": process.returncode,
                    "seconds": round(time.perf_counter() - begun, 1), **_differences(folder / "one", folder / name),
                }
            )  # fmt: skip
            log_line(str(rows[-1]))
    finally:
        nodes.shutdown()
    shutil.rmtree(folder)
    return {"texts": TEXTS, "epochs": EPOCHS, "runs": rows}


def _start(folder: Path, name: str, trainers: int, address: str) -> subprocess.Popen[str]:
    launcher = ["torch.distributed.run", "--nproc-per-node", str(trainers), "-m"] if name.startswith("fsdp") else []
    command = [sys.executable, "-m", *launcher, "benchmarks.scale.training", str(folder), name, str(trainers), address]
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
        return ("ray::" in line and "TrainWorker" in line) or (
            "benchmarks.scale.training" in line and "fsdp" in line and "distributed" not in line
        )
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


def _shard_on_cpus() -> None:
    """Let accelerate and alloykit use FSDP on CPUs, which both do on GPUs only. FSDP itself works on both."""
    from accelerate import state

    from alloykit.stages import amalgamation

    begin = state.PartialState.__init__

    def begin_as_if_on_gpus(self: Any, *given: Any, **more: Any) -> None:
        begin(self, *given, **more)
        if self._shared_state.get("distributed_type") == state.DistributedType.MULTI_CPU:
            self._shared_state["distributed_type"] = state.DistributedType.MULTI_GPU

    state.PartialState.__init__ = begin_as_if_on_gpus
    amalgamation.require_shardable = lambda *_: None


def one(folder: Path, name: str, trainers: str, address: str) -> None:
    """A run, in a process of its own."""
    import torch

    import alloykit
    from alloykit.testing import tiny

    torch.set_num_threads(1)
    if sharded := name.startswith("fsdp"):
        _shard_on_cpus()
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    for n, labels in enumerate((["a", "b"], ["c", "d", "e"])):
        if not (folder / f"teacher{n}").exists():
            tiny.classifier(folder / f"teacher{n}", labels, "bert", seed=n)
    if not (folder / "encoder").exists():
        tiny.encoder(folder / "encoder", **quiet)
        (folder / "texts.txt").write_text("\n".join(tiny.texts(TEXTS)))
    alloykit.amalgamate(
        [folder / "teacher0", folder / "teacher1"], folder / "texts.txt", {"model": str(folder / "encoder")}, "vanilla_kd",
        training={
            "epochs": EPOCHS, "learning_rate": 1e-3, "batch_size": 16, "max_length": 16, "select": "last", "check_every": 40, "save_every_seconds": 0,
            "arguments": {"fsdp": True} if sharded else {},
        },
        engine={"name": "ray", "address": address, "workers": 1, "trainers": int(trainers)} if address and not sharded else None,
        output=folder / name,
    )  # fmt: skip


TABLE = Measurement("training", "two training processes of Ray Train beside one process", run, paper="scale")

if __name__ == "__main__":
    one(Path(sys.argv[1]), *sys.argv[2:])
