"""Run `alloykit amalgamate` until something appears on the disk, and then send it a signal."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from alloykit.cli import main as cli
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.stages.amalgamation import run_recipe

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
    """All knowledge, the student's weights and configuration, and every loss of its training."""
    paths = sorted(run.glob("cache/**/*.safetensors")) + [
        run / "student" / n for n in ("model.safetensors", "config.json")
    ]
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
    """Start the command, send the signal as soon as `when` says so, and wait for its end.

    The command runs in a fork of this process: a new interpreter would import torch first, for seconds.
    """
    streams = [recipe.with_name(f"stopped.{name}") for name in ("out", "err")]
    process = multiprocessing.get_context("fork").Process(target=command_line, args=(recipe, streams))
    process.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not when():
            assert process.is_alive(), f"it ended too early: {[path.read_text() for path in streams]}"
            assert time.monotonic() < deadline, "it never came so far"
            time.sleep(0.002)
        os.kill(process.pid or 0, number)
        process.join(PATIENCE)
    finally:
        process.kill()
        process.join()
    return Stopped(process.exitcode or 0, *(path.read_text() for path in streams))


def command_line(recipe: Path, streams: list[Path]) -> None:
    """`alloykit amalgamate recipe` with its output in two files. Ends the process."""
    os.nice(5)  # it must not outrun who watches it, on a busy machine either
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, path in zip((1, 2), streams, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    sys.stdout, sys.stderr = (open(descriptor, "w", buffering=1, encoding="utf-8") for descriptor in (1, 2))  # noqa: SIM115
    sys.argv = ["alloykit", "amalgamate", str(recipe)]
    cli.main()
