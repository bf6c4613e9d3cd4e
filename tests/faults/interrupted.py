"""Run `alloykit amalgamate` until something appears on the disk, and then send it a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from alloykit.recipe.models import Recipe, parse
from alloykit.stages.amalgamation import run_recipe

COMMAND = [sys.executable, "-c", "from alloykit.cli.main import main; main()", "amalgamate"]
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
PATIENCE = 60  # seconds


@dataclass(frozen=True)
class Reference:
    """An uninterrupted run and the bytes that it made."""

    folder: Path
    result: dict[str, bytes]


def amalgamate(values: dict[str, Any]) -> Path:
    """The command in this process: the same code, without another import of torch."""
    return run_recipe(parse(values, Recipe)).folder


class Crash(Exception):
    """Stands for the power going off."""


def without_saving(values: dict[str, Any]) -> None:
    """Die when training has ended and the student is about to be saved."""

    def crash(*_: Any) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Crash):
        patch.setattr("alloykit.stages.train_student.save_classifier", crash)
        amalgamate(values)


def result_of(run: Path) -> dict[str, bytes]:
    """All knowledge, the student's weights, and every loss of its training."""
    paths = [*sorted(run.glob("cache/**/*.safetensors")), run / "student" / "model.safetensors"]
    history = [
        {key: value for key, value in sorted(entry.items()) if "runtime" not in key and "per_second" not in key}
        for entry in json.loads((run / "training.json").read_text())["history"]
    ]
    return {str(p.relative_to(run)): p.read_bytes() for p in paths} | {"history": json.dumps(history).encode()}


@dataclass(frozen=True)
class Stopped:
    code: int
    out: str
    err: str


def stop(recipe: Path, number: signal.Signals, when: Callable[[], bool]) -> Stopped:
    """Start the command, send the signal as soon as `when` says so, and wait for its end."""
    process = subprocess.Popen(
        [*COMMAND, str(recipe)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | ENVIRONMENT,
        preexec_fn=lambda: os.nice(5),  # it must not outrun who watches it, on a busy machine either
    )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE
        while not when():
            assert process.poll() is None, f"it ended too early: {process.communicate()}"
            assert time.monotonic() < deadline, "it never came so far"
            time.sleep(0.002)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    return Stopped(process.returncode, out, err)
