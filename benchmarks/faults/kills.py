"""Killed at any change of a file, and at any time, once to three times; then started again and compared with a run that never was.

Even seeds are killed just before the n-th file or folder is made, renamed or removed, some with the file cut in half; odd ones at a
share of the time that the run takes, a few by Ctrl-C.
"""

from __future__ import annotations

import signal
from typing import Any

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.same_results import difference, leftovers, units
from benchmarks.faults.steps import step
from benchmarks.faults.stock import SCENARIOS

WEIGHTS = {
    "alloy": 8, "muka": 8, "alloy from generated texts": 4, "muka from generated texts": 4, "distill": 4, "generate": 2, "teach": 2, "teach --together": 1,
}  # fmt: skip
ORDER = [name for name, weight in WEIGHTS.items() for _ in range(weight)]


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    name = ORDER[case.seed // 2 % len(ORDER)]
    reference = case.stock.reference(name)
    case.stock.fill(folder, name)
    argv, run = SCENARIOS[name].argv, folder / "run"
    faults = [fault_of(case, reference.seconds, reference.changes) for _ in range(draw.choice((1, 1, 2, 3)))]
    case.about = f"{name}: {', then '.join(map(in_words, faults))}"
    finished: dict[str, tuple[int, int]] = {}
    for fault in [*faults, {}]:
        ended = case.run(step(folder, *argv, fault=fault))[0]
        now = units(run)
        lost = [unit for unit, about in finished.items() if now.get(unit) != about]
        case.demand(not lost, "lost", f"{lost[:2]} was finished before the kill and made again, or is gone")
        finished = now
    case.demand(ended.code == 0, "lost", f"started again, it ended with {ended.code}: {ended.error[-300:]}")
    if ended.code == 0:
        differs = difference(reference.folder, run)
        case.demand(differs is None, "different", differs or "")
        case.demand(not leftovers(folder), "left behind", ", ".join(leftovers(folder)[:3]))
        if case.seed % 5 == 0:
            again = case.run(step(folder, *argv))[0]
            differs = difference(reference.folder, run)
            case.demand(again.code == 0 and differs is None, "different", f"started once more: {again.code}, {differs}")


def fault_of(case: Case, seconds: float, changes: int) -> dict[str, Any]:
    draw = case.draw
    if case.seed % 2 == 0:
        return {"kill_at": draw.randint(1, max(1, changes)), "torn": draw.random() < 0.5}
    number = signal.SIGINT if draw.random() < 0.25 else signal.SIGTERM if draw.random() < 0.1 else signal.SIGKILL
    return {"kill_after": round(draw.random() * seconds, 3), "signal": int(number)}


def in_words(fault: dict[str, Any]) -> str:
    if "kill_at" in fault:
        return f"killed before change {fault['kill_at']}" + (", the file cut" if fault["torn"] else "")
    return f"{signal.Signals(fault['signal']).name} after {fault['kill_after']} s"


TABLE = Kind("kills", "Killed at any write and at any time, and started again", 160, make)
