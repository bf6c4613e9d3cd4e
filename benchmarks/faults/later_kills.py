"""Kills of the commands after a run, and of runs with teachers of other kinds; then started again and compared with one that never was killed.

The kills are those of kills.py. A service must not be asked again for an answer that was on the disk, the earlier run must stay as it is, and the
hub's stand-in must have the whole push or nothing of it.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from alloykit.run_folder.output_folder import LOCK_FILES
from benchmarks.faults.cases import Case
from benchmarks.faults.kills import fault_of, in_words
from benchmarks.faults.kinds import Kind
from benchmarks.faults.later import LATER, prepare, running
from benchmarks.faults.same_results import difference, leftovers, units
from benchmarks.faults.steps import step

NAMES = [name for name in LATER if name != "exported"]


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    name = NAMES[case.seed // 2 % len(NAMES)]
    reference = case.stock.reference(name)
    prepare(case, name)
    faults = [fault_of(case, reference.seconds, reference.changes) for _ in range(draw.choice((1, 1, 2, 3)))]
    case.about = f"{name}: {', then '.join(map(in_words, faults))}"
    finished: dict[str, tuple[int, int]] = units(folder)
    with running(case.stock, name) as (server, more):
        for fault in [*faults, {}]:
            paid, before = _answers(folder), len(server.asked) if LATER[name].service else 0
            ended = case.run(step(folder, *LATER[name].argv, fault=fault, **more))[0]
            now = units(folder)
            lost = [unit for unit, about in finished.items() if now.get(unit) != about]
            case.demand(not lost, "lost", f"{lost[:2]} was finished before the kill and made again, or is gone")
            finished = now
            if LATER[name].service:
                again = [t for body in server.asked[before:] for t in body["inputs"] if str(t) in paid]
                case.demand(not again, "lost", f"paid for twice: {again[:2]}")
        case.demand(ended.code == 0, "lost", f"started again, it ended with {ended.code}: {ended.error[-300:]}")
        if ended.code == 0:
            _compare(case, name, reference.folder.parent)
            if LATER[name].hub:
                _pushed(case, server)


def _compare(case: Case, name: str, wanted: Path) -> None:
    for note in case.folder.rglob(f"{LOCK_FILES}*json"):
        note.unlink()  # says who held a lock that died with it; a command that needs no lock, such as the second `watch`, leaves it
    for place in LATER[name].makes:
        differs = difference(wanted / place, case.folder / place)
        case.demand(differs is None, "different", f"{place}: {differs}")
    case.demand(not leftovers(case.folder), "left behind", ", ".join(leftovers(case.folder)[:3]))


def _answers(folder: Path) -> set[str]:
    """The texts of which the answers are on the disk: the service's shares show which they are."""
    shares = set[float]()
    for path in folder.rglob("own/**/*.jsonl"):
        for line in path.read_bytes().splitlines():
            try:
                found: dict[str, Any] = json.loads(line)["answers"]
            except (ValueError, KeyError):
                continue
            shares |= {round(answer[0], 6) for key, answer in found.items() if answer and " probe " not in key}
    return {text for text, share in _texts(folder).items() if share in shares and _single(folder, share)}


def _texts(folder: Path) -> dict[str, float]:
    import csv
    import hashlib

    found = {}
    for name in ("texts.csv", "other.csv", "test.csv"):
        with (folder / name).open(newline="", encoding="utf-8") as file:
            found |= {
                row["text"]: round(hashlib.sha256(row["text"].encode()).digest()[0] / 256, 6)
                for row in csv.DictReader(file)
            }
    return found


def _single(folder: Path, share: float) -> bool:
    """Whether only one text has this share, so that it names the text."""
    return Counter(_texts(folder).values())[share] == 1


def _pushed(case: Case, hub: Any) -> None:
    """The student and the rest are on the hub as they are here."""
    files = hub.repositories["my-team/tickets"].branches["main"]
    for path in (case.folder / "run" / "student").iterdir():
        same = path.name == "README.md" or files.get(path.name) == path.read_bytes()
        case.demand(same, "different", f"{path.name} on the hub")
    case.demand("onnx/model.onnx" in files, "lost", "the graph is not on the hub")


TABLE = Kind("later_kills", "Commands after a run, and runs with other teachers, killed and started again", 120, make)
