"""Several processes read large files: same texts, same ids, same order, same messages."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alloykit.data import TextsOptions, load_texts, pieces, read_in_pieces
from alloykit.errors import AlloyError, AlloyWarning

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two Parquet files in row groups of seven and eight rows. Some rows are unusable, and some texts come twice."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("SALT", "pepper")
    for name, rows, group in (("a", 60, 7), ("b", 43, 8)):
        numbers = [int(name == "b") * 60 + i for i in range(rows)]
        texts = [None if n % 17 == 3 else " " if n % 23 == 5 else f"text {n % 31} é" for n in numbers]
        pairs = [None if n % 29 == 1 else f"pair {n}" for n in numbers]
        pq.write_table(
            pa.table({"text": texts, "second": pairs, "label": [n % 2 for n in numbers]}),
            tmp_path / f"{name}.parquet",
            row_group_size=group,
        )
    (tmp_path / "notes.md").write_text("no texts")
    return tmp_path


def options(folder: Path, **more: Any) -> TextsOptions:
    values = {"path": str(folder), "text_pair": "second", "label": "label", "label_names": ["no", "yes"], "salt_env": "SALT"}  # fmt: skip
    return TextsOptions.model_validate(values | more)


def parallel(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """From now on two processes read pieces of ten rows or 200 bytes. Returns those that were started."""
    started: list[subprocess.Popen[str]] = []
    real = subprocess.Popen
    monkeypatch.setattr(read_in_pieces, "FROM", 20)
    monkeypatch.setattr(pieces, "ROWS", 10)
    monkeypatch.setattr(pieces, "BYTES", 200)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    monkeypatch.setattr(read_in_pieces.subprocess, "Popen", lambda *a, **k: (started.append(real(*a, **k)), started[-1])[1])  # fmt: skip
    return started


def rewritten(folder: Path, kind: str) -> None:
    """The files of a folder as CSV with line breaks in its cells, or as JSON lines."""
    for path in folder.glob("*.parquet"):
        rows = pq.read_table(path).to_pylist()
        with path.with_suffix(kind).open("w", encoding="utf-8", newline="") as file:
            if kind == ".csv":
                rows = [row | {"text": row["text"] and row["text"].replace(" ", '\n"')} for row in rows]
                writer = csv.DictWriter(file, ["label", "text", "second"])
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        path.unlink()


@pytest.mark.parametrize("kind", [".parquet", ".csv", ".jsonl"])
def test_the_table_is_that_of_one_process(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind != ".parquet":
        rewritten(folder, kind)
    with pytest.warns(AlloyWarning) as warned:
        alone = load_texts(options(folder))
    started = parallel(monkeypatch)
    with pytest.warns(AlloyWarning) as warned_again:
        found = load_texts(options(folder))
    assert len(started) == 2
    assert all(process.returncode == 0 for process in started)
    assert found.table.take(range(len(found))) == alone.table.take(range(len(alone)))
    assert (found.dropped, found.total, found.fingerprint()) == (alone.dropped, alone.total, alone.fingerprint())
    assert [str(w.message) for w in warned_again] == [str(w.message) for w in warned]


def test_a_message_is_that_of_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AlloyError) as alone:
        load_texts(options(folder, label_names=["no"]))
    started = parallel(monkeypatch)
    with pytest.raises(AlloyError, match=re.escape(str(alone.value))):
        load_texts(options(folder, label_names=["no"]))
    assert len(started) == 2


def test_a_process_that_is_killed_is_not_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(AlloyWarning):
        alone = load_texts(options(folder))
    started = parallel(monkeypatch)
    real, asked = read_in_pieces._Reader.ask, list[Any]()

    def ask(self: Any, request: Any) -> None:
        asked.append(request)
        if len(asked) == 6:
            started[1].send_signal(signal.SIGKILL)
            started[1].wait()
        real(self, request)

    monkeypatch.setattr(read_in_pieces._Reader, "ask", ask)
    with pytest.warns(AlloyWarning):
        found = load_texts(options(folder))
    assert started[1].returncode == -signal.SIGKILL
    assert found.fingerprint() == alone.fingerprint()


@pytest.mark.parametrize(("rows", "threads", "expected"), [(10, "", 1), (1 << 20, "", 2), (1 << 20, "1", 1)])
def test_how_many_processes(monkeypatch: pytest.MonkeyPatch, rows: int, threads: str, expected: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert read_in_pieces.processes_for(rows) == expected
