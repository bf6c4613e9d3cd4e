"""Disks that are full at any size or any write, that fail, or cannot be written; then there is room, and the same command goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.same_results import difference, leftovers
from benchmarks.faults.steps import step
from benchmarks.faults.stock import SCENARIOS

NAMES = ("alloy", "muka", "alloy from generated texts", "distill", "generate", "teach", "muka")
ERRORS = ("ENOSPC", "ENOSPC", "ENOSPC", "EDQUOT", "EIO", "EROFS", "EACCES", "EMFILE")

LEAST_BYTES = 6_000  # smaller ones would cut the file in which the benchmark reads the command's message


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    name = NAMES[case.seed % len(NAMES)]
    reference = case.stock.reference(name)
    how = ("write", "tmpfs", "write", "file size", "place")[case.seed % 5]
    if how == "tmpfs" and os.geteuid() != 0:
        how = "write"
    argv = SCENARIOS[name].argv
    if how == "tmpfs":
        _small_disk(case, name, reference.folder)
        return
    case.stock.fill(folder, name)
    if how == "place":
        _no_place(case, name)
        return
    fault: dict[str, Any]
    if how == "file size":
        sizes = sorted(p.stat().st_size for p in reference.folder.rglob("*") if p.is_file())
        fault = {"file_bytes": draw.choice((*sizes, *sizes[-5:])) - draw.randrange(1, 400)}
        fault = {"file_bytes": max(LEAST_BYTES, fault["file_bytes"])}
    else:
        fault = {
            "error_at": draw.randint(1, reference.changes),
            "errno": draw.choice(ERRORS),
            "on": draw.random() < 0.7,
        }
    case.about = f"{name}: {fault}"
    case.run(step(folder, *argv, fault=fault))
    _goes_on(case, name, reference.folder)


def _goes_on(case: Case, name: str, reference: Path) -> None:
    """With room again, it ends as if it had never lacked."""
    ended = case.run(step(case.folder, *SCENARIOS[name].argv))[0]
    case.demand(ended.code == 0, "lost", f"with room again, it ended with {ended.code}: {ended.error[-300:]}")
    if ended.code == 0:
        differs = difference(reference, case.folder / "run")
        case.demand(differs is None, "different", differs or "")
        case.demand(not leftovers(case.folder), "left behind", ", ".join(leftovers(case.folder)[:3]))


def _small_disk(case: Case, name: str, reference: Path) -> None:
    """The run folder is a disk of its own."""
    folder = case.folder
    case.stock.fill(folder, name)
    needed = sum(p.stat().st_size for p in reference.rglob("*") if p.is_file())
    size = int(needed * case.draw.uniform(0.0, 1.5)) // 4096 * 4096 + 4096
    (folder / "disk").mkdir()
    told = (folder / "recipe.yaml").read_text().replace("output: run", "output: disk/run")
    (folder / "recipe.yaml").write_text(told)
    case.about = f"{name}: a disk of {size:,} bytes"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder / "disk"], check=True)
    try:
        case.run(step(folder, *SCENARIOS[name].argv, environment={}))
        subprocess.run(["mount", "-o", "remount,size=1g", folder / "disk"], check=True)
        ended = case.run(step(folder, *SCENARIOS[name].argv))[0]
        case.demand(ended.code == 0, "lost", f"with room again, it ended with {ended.code}: {ended.error[-300:]}")
        if ended.code == 0:
            weights = [p / "student" / "model.safetensors" for p in (reference, folder / "disk" / "run")]
            if weights[0].exists():
                case.demand(weights[0].read_bytes() == weights[1].read_bytes(), "different", "the student's weights")
            case.demand(not leftovers(folder / "disk"), "left behind", ", ".join(leftovers(folder / "disk")[:3]))
    finally:
        subprocess.run(["umount", "-l", folder / "disk"], check=True)


def _no_place(case: Case, name: str) -> None:
    """Something is in the way of the output, or it cannot be written."""
    folder, draw = case.folder, case.draw
    run = folder / "run"
    how = draw.choice(
        (
            "read-only",
            "a file",
            "a dangling link",
            "a link to /dev/full",
            "student a file",
            "knowledge a file",
            "report a folder",
            "a pipe",
            "/proc",
        )
    )
    case.about = f"{name}: the output is {how}"
    mounted = False
    if how == "read-only":
        run.mkdir()
        if os.geteuid() == 0:
            mounted = (
                subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", run], check=False).returncode == 0
            )
        else:
            run.chmod(0o500)
    elif how == "a file":
        run.write_text("x")
    elif how == "a dangling link":
        os.symlink("no/such/place", run)
    elif how == "a link to /dev/full":
        os.symlink("/dev/full", run)
    elif how == "a pipe":
        os.mkfifo(run)
    elif how == "/proc":
        told = (folder / "recipe.yaml").read_text().replace("output: run", "output: /proc/alloykit")
        (folder / "recipe.yaml").write_text(told)
    else:
        shutil.copytree(case.stock.reference(name).folder, run)
        target = run / {"student a file": "student", "knowledge a file": "cache", "report a folder": "report.html"}[how]
        if target.is_dir():
            shutil.rmtree(target)
            target.write_text("x")
        else:
            target.unlink(missing_ok=True)
            target.mkdir()
    try:
        case.run(step(folder, *SCENARIOS[name].argv))
    finally:
        if mounted:
            subprocess.run(["umount", "-l", run], check=True)


TABLE = Kind("disks", "Full disks, failing writes and outputs that cannot be written", 100, make)
