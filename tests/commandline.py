"""The command line as a real process and in this one, and small files for it."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from alloykit import progress
from alloykit.cli import main as cli

COMMAND = [sys.executable, "-c", "from alloykit.cli.main import main; main()"]
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "140"}


@dataclass(frozen=True)
class Result:
    """What a command left behind: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def message(self) -> str:
        return self.err[self.err.rfind("error: ") :].strip()

    def refused(self, *words: str) -> None:
        """It ended as after any mistake of a user: code 2, no data, one message in three parts that says these words."""
        assert self.code == 2, self
        assert self.out == "", self.out
        assert "Traceback" not in self.err
        assert self.message.startswith("error: expected "), self.err
        assert "; got " in self.message
        assert not (missing := [word for word in words if word not in self.message]), f"{missing} not in {self.message}"


Call = Callable[..., Result]


def execute(*arguments: object, stdin: bytes = b"", **environment: str) -> Result:
    """Run `alloykit …` as a process of its own, as a shell would."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin, capture_output=True, timeout=120, env=os.environ | ENVIRONMENT | environment, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_here(*arguments: object, stdin: str | bytes = "") -> Result:
    """Run `alloykit …` in this process; an exception that a user would see as a traceback comes through."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    told = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True) for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_VERBOSITY"):  # main() sets them; restored afterwards
            patch.setenv(name, os.environ.get(name, "1" if "BARS" in name else "error"))
        patch.setattr(progress, "_quiet", progress._quiet)  # `-q` sets it; restored afterwards
        patch.setattr(sys, "argv", ["alloykit", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)), encoding="utf-8"))
        patch.setattr(sys, "stdout", told[0])
        patch.setattr(sys, "stderr", told[1])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    out, err = (stream.buffer.getvalue().decode() for stream in told)  # type: ignore[attr-defined]
    return Result(int(ended.value.code or 0), out, err)


def write_recipe(folder: Path, values: Any, name: str = "recipe.yaml") -> Path:
    path = folder / name
    path.write_text(values if isinstance(values, str) else yaml.safe_dump(values), encoding="utf-8")
    return path


def write_csv(path: Path, rows: Sequence[Sequence[object]], header: Sequence[str] = ("text",)) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder: equal before and after means that nothing was written."""
    found = ((p, p.stat()) for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(p.relative_to(folder)): (s.st_size, s.st_mtime_ns) for p, s in found}


@dataclass(frozen=True)
class Finished:
    """A run that `alloykit amalgamate` made. Read it, copy it, but do not write into it."""

    folder: Path
    recipe: Path
    test: Path
    result: Result


@dataclass(frozen=True)
class Taught:
    """Two teachers that learned a toy problem, and what `alloykit teach` said when it made the first of them."""

    encoder: Path
    data: Path
    teachers: dict[str, Path]
    recipe: dict[str, Any]
    result: Result


def collect(name: str, result: Result) -> None:
    """With ALLOYKIT_MESSAGES=FILE, add a row to a table of all messages, to read them as a user would."""
    if path := os.environ.get("ALLOYKIT_MESSAGES"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"| {name} | {result.code} | {result.message.replace(chr(10), '<br>').replace('|', '/')} |\n")
