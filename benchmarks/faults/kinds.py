"""A kind of cases, and the loop over its seeds."""

from __future__ import annotations

import json
import random
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from alloykit.json_files import write_json
from alloykit.progress import log_line
from benchmarks.faults.cases import FAULTS, Case
from benchmarks.faults.later import make_later
from benchmarks.faults.stock import Stock, source_digest
from benchmarks.faults.worker import Worker
from benchmarks.harness.results import RESULTS, commit
from benchmarks.speed.measure import machine

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
            stock = Stock(work, worker, make_later)
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
