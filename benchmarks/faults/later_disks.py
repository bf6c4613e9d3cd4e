"""Full disks, failing writes and limits of size during the commands after a run; then there is room, and the same command goes on."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from benchmarks.faults.cases import Case
from benchmarks.faults.disks import ERRORS, LEAST_BYTES
from benchmarks.faults.kinds import Kind
from benchmarks.faults.later import LATER, prepare, running
from benchmarks.faults.same_results import difference, leftovers
from benchmarks.faults.steps import step

NAMES = [name for name in LATER if name != "exported"]


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    name = NAMES[case.seed % len(NAMES)]
    reference = case.stock.reference(name)
    made = reference.folder.parent
    how = ("write", "file size", "write", "tmpfs")[case.seed // len(NAMES) % 4]
    if how == "tmpfs" and os.geteuid():
        how = "write"
    fault: dict[str, Any] = {}
    if how == "write":
        fault = {
            "error_at": draw.randint(1, max(1, reference.changes)),
            "errno": draw.choice(ERRORS),
            "on": draw.random() < 0.7,
        }
    elif how == "file size":
        sizes = sorted(
            p.stat().st_size for place in LATER[name].makes for p in (made / place).rglob("*") if p.is_file()
        )
        fault = {"file_bytes": max(LEAST_BYTES, draw.choice((*sizes, *sizes[-5:])) - draw.randrange(1, 400))}
    disk = folder
    if (
        how == "tmpfs"
    ):  # the whole case is on a disk of its own, which has little room beyond what the command starts from
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", disk], check=True)
    try:
        _in_place(case, name, fault, how)
    finally:
        if how == "tmpfs":
            subprocess.run(["umount", "-l", disk], check=True)


def _in_place(case: Case, name: str, fault: dict[str, Any], how: str) -> None:
    folder, made = case.folder, case.stock.reference(name).folder.parent
    prepare(case, name)
    case.about = f"{name}: {fault}"
    with running(case.stock, name) as (_, more):
        if how == "tmpfs":
            used = sum(p.stat().st_blocks * 512 for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
            new = sum(p.stat().st_size for place in LATER[name].makes for p in (made / place).rglob("*") if p.is_file())
            room = int(new * case.draw.uniform(0.0, 0.6)) + 300_000  # for the log, and the folder for temporary files
            case.about = f"{name}: a disk with {room:,} free bytes"
            subprocess.run(["mount", "-o", f"remount,size={(used + room) // 4096 * 4096 + 4096}", folder], check=True)
            case.run(step(folder, *LATER[name].argv, **more))
            subprocess.run(["mount", "-o", "remount,size=1g", folder], check=True)
        else:
            case.run(step(folder, *LATER[name].argv, fault=fault, **more))
        ended = case.run(step(folder, *LATER[name].argv, **more))[0]
    case.demand(ended.code == 0, "lost", f"with room again, it ended with {ended.code}: {ended.error[-300:]}")
    if ended.code == 0:
        for place in LATER[name].makes:
            differs = difference(made / place, folder / place)
            case.demand(differs is None, "different", f"{place}: {differs}")
        case.demand(not leftovers(folder), "left behind", ", ".join(leftovers(folder)[:3]))


TABLE = Kind("later_disks", "Full disks and failing writes during the commands after a run", 48, make)
