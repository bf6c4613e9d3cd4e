"""A case: what is made, run and demanded."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults.steps import GROWTH_MB, Outcome, Step
from benchmarks.faults.stock import Stock

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
