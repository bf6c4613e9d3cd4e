"""A case: what is made, run and demanded; and the loop over the seeds of a kind."""

from __future__ import annotations

import json
import random
import re
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from alloykit.json_files import write_json
from alloykit.progress import log_line
from benchmarks.faults.steps import GROWTH_MB, Outcome, Step
from benchmarks.faults.stock import Stock, source_digest
from benchmarks.faults.worker import Worker
from benchmarks.harness.results import RESULTS, commit
from benchmarks.speed.measure import machine

ENDS = (0, 2, 130, 141)
FAULTS = (
    "traceback", "exit code", "hang", "memory", "no message", "long message", "control characters", "network", "foreign code",
    "lost", "different", "left behind", "broken case",
)  # fmt: skip
LONGEST_MESSAGE = 6_000  # characters: a recipe may have many problems, but no value is echoed whole
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
CANARY = "CANARY"

Fault = tuple[str, str]
"""One of FAULTS, and what was seen."""


@dataclass
class Case:
    """`folder` is new and empty. `run` returns outcomes; what no command may do is judged in `judge`, more in `faults`."""

    folder: Path
    seed: int
    draw: random.Random
    stock: Stock
    about: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def run(
        self, *steps: Step, network: bool = False, code: bool = False, ends: Iterable[int] = ENDS, told: bool = True
    ) -> list[Outcome]:
        """Run steps at the same time and judge each. code: the user has allowed the code of the case's folder. told: whether a refusal has a
        message; of several processes of one command only the first one prints it."""
        found = self.stock.worker.run(*steps)
        for one, outcome in zip(steps, found, strict=True):
            asked = (-9, -one.fault.get("signal", 9)) if {"kill_at", "kill_after"} & one.fault.keys() else ()
            seen = one.error == "file" and one.out != "closed" and not (one.argv[:1] == ["doctor"] and outcome.out)
            seen = seen and told and one.environment.get("RANK", "0") == "0"
            self.faults += judge(outcome, (*ends, *asked), network=network, told=seen, code=code)
        self.outcomes += found
        if (self.folder / CANARY).exists():
            self.faults.append(("foreign code", "the canary was made"))
        return found

    def demand(self, holds: bool, fault: str, what: str) -> None:
        if not holds:
            self.faults.append((fault, what))


def judge(
    outcome: Outcome, ends: Iterable[int] = ENDS, *, network: bool = False, told: bool = True, code: bool = False
) -> list[Fault]:
    """What a command did that none may do."""
    found: list[Fault] = []
    if outcome.hung:
        found.append(("hang", f"after {outcome.seconds:.0f} s: {_where(outcome.error)}"))
    elif "Traceback (most recent call last)" in outcome.error or "Exception ignored" in outcome.error:
        found.append(("traceback", _last(outcome.error)))
    elif outcome.code not in ends:
        found.append(("exit code", f"{outcome.code}: {_last(outcome.error)}"))
    elif outcome.code == 2 and told:
        begins = [found.start() for found in re.finditer(r"^(error: |Usage: )", outcome.error, re.MULTILINE)]
        message = outcome.error[begins[-1] if begins else 0 :]
        if not message.startswith(("error: expected ", "Usage: ")):
            found.append(("no message", _last(outcome.error)))
        if len(message) > LONGEST_MESSAGE:
            found.append(("long message", f"{len(message):,} characters: {message[:100]}"))
    if outcome.growth_mb > GROWTH_MB:
        found.append(("memory", f"{outcome.growth_mb:.0f} MB"))
    if (odd := CONTROL.search(outcome.out + outcome.error)) is not None:
        whole = outcome.out + outcome.error
        found.append(("control characters", repr(whole[max(0, odd.start() - 60) : odd.end() + 10])))
    for seen in outcome.seen:
        kind = seen.split()[0]
        if kind == "network" and not network:
            found.append(("network", seen))
        elif kind == "code" and code:
            continue
        elif kind in ("code", "pickle", "library") or (kind == "process" and "uname" not in seen):
            found.append(("foreign code", seen))
    return found


def _last(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    place = [line.strip() for line in lines if "/alloykit/" in line]
    at = re.sub(r'File ".*?/(alloykit/[^"]*)", line (\d+), in (\S+)', r"\1:\2 \3", place[-1]) if place else ""
    return f"{lines[-1][:300] if lines else 'nothing'}" + (f" [{at}]" if at else "")


def _where(text: str) -> str:
    """The innermost lines of what faulthandler printed of the main thread."""
    found = re.findall(r'File "(?:.*/)?([^"/]+)", line (\d+) in (\w+)', text)
    return " < ".join(f"{name}:{line} {what}" for name, line, what in found[:5])


Make = Callable[[Case], None]


@dataclass(frozen=True)
class Seed:
    """What `--seed` chooses from."""

    seed: int


@dataclass(frozen=True)
class Kind:
    """One kind of cases, `python -m benchmarks faults NAME`. `make` makes the case of a seed and runs it."""

    options: ClassVar = ("seed",)
    name: str
    title: str
    seeds: int
    make: Make
    paper: str = "faults"

    def selectable(self) -> list[Seed]:
        return [Seed(n) for n in range(self.seeds)]

    def fill(self, data: Path, work: Path, *, retry: bool = False, seed: list[int] | None = None, **_: Any) -> None:
        """Try every seed that was not tried yet, and those that failed with other code (`retry`: with this code, too).
        `seed`: these alone, and keep their folders. To try all again, remove WORK/faults."""
        work = (work / self.paper).resolve()
        with Worker(work / f"worker-{self.name}") as worker:
            stock = Stock(work, worker)
            if seed:
                for n in seed:
                    self._tell(self.attempt(n, stock, work / self.name / str(n), keep=True))
                return
            log, code, at = work / f"{self.name}.jsonl", source_digest(), commit()
            done = _read(log)
            todo = [
                n
                for n in range(self.seeds)
                if n not in done or (done[n]["faults"] and (retry or done[n]["code"] != code))
            ]
            log_line(f"faults {self.name}: {len(todo)} of {self.seeds} cases to try")
            for n in todo:
                done[n] = self.attempt(n, stock, work / self.name / str(n)) | {"code": code, "commit": at}
                if done[n]["faults"]:
                    self._tell(done[n])
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[n], ensure_ascii=True) + "\n")
            self._record(done)

    def attempt(self, seed: int, stock: Stock, folder: Path, keep: bool = False) -> dict[str, Any]:
        """Make and run the case of a seed."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        case = Case(folder, seed, random.Random(f"{self.name} {seed}"), stock)
        begun = time.perf_counter()
        try:
            self.make(case)
        except Exception:
            case.faults.append(("broken case", traceback.format_exc()[-1500:]))
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        return {
            "seed": seed,
            "about": case.about,
            "codes": [o.code for o in case.outcomes],
            "seconds": round(time.perf_counter() - begun, 2),
            "growth_mb": max((o.growth_mb for o in case.outcomes), default=0.0),
            "faults": [list(f) for f in dict.fromkeys(case.faults)],
        }

    def _tell(self, tried: dict[str, Any]) -> None:
        faults = "; ".join(f"{kind}: {what}" for kind, what in tried["faults"]) or "nothing wrong"
        log_line(f"{self.name} {tried['seed']} ({tried['about']}) {tried['codes']} {tried['seconds']} s: {faults}")

    def _record(self, done: dict[int, dict[str, Any]]) -> None:
        tried = [done[n] for n in sorted(done) if n < self.seeds]
        commands = [code for one in tried for code in one["codes"]]
        write_json(
            RESULTS / self.paper / f"{self.name}.json",
            {
                "command": f"python -m benchmarks {self.paper} {self.name}",
                "commit": ", ".join(f"{at} ({n} cases)" for at, n in Counter(one["commit"] for one in tried).items()),
                "date": datetime.now(UTC).date().isoformat(),
                "machine": machine(),
                "seconds": round(sum(one["seconds"] for one in tried)),
                "figures": {
                    "title": self.title,
                    "seeds": f"0 to {self.seeds - 1}",
                    "cases": len(tried),
                    "commands": len(commands),
                    "ends": {str(code): commands.count(code) for code in sorted(set(commands))},
                    "longest_seconds": max((one["seconds"] for one in tried), default=0.0),
                    "most_growth_mb": max((one["growth_mb"] for one in tried), default=0.0),
                    "faults": {kind: sum(any(f[0] == kind for f in one["faults"]) for one in tried) for kind in FAULTS},
                    "failed": [{k: v for k, v in one.items() if k != "code"} for one in tried if one["faults"]],
                },
            },
        )


def _read(log: Path) -> dict[int, dict[str, Any]]:
    if not log.exists():
        return {}
    found = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {one["seed"]: one for one in found}
