"""Folders that are made once for all processes of pytest-xdist."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def whole_run(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of the whole test run; each process of pytest-xdist has one of its own in it."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def once(root: Path, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `root/name`. The first process that asks fills it with `make(folder)`; the others wait, and only read it."""
    folder, done = root / name, root / f"{name}.done"
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / f"{name}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
