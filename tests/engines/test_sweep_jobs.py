"""A sweep by an engine, here this process: which jobs it has, and what its workers load."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from knowing import SENTENCES, arrays, table
from made_up_teacher import OPTIONS, Teacher, run

from alloykit import files
from alloykit.engines.jobs import Job, Worker
from alloykit.engines.sweep_jobs import SweepBy
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep


class Pickling:
    """One worker, in this process. A job is pickled on its way, as to another one."""

    def run(self, jobs: Sequence[Job], worker: Callable[[], Worker], what: str, unit: str) -> Iterator[tuple[int, Any]]:
        do = worker()
        for n, job in enumerate(jobs):
            yield n, do(pickle.loads(pickle.dumps(job)))


HERE = SweepBy(Pickling())


def test_the_files_are_those_of_the_sweep_and_a_finished_one_loads_nothing(tmp_path: Path) -> None:
    run(Teacher(), tmp_path / "alone", passes=4)
    teacher = Teacher()
    assert run(teacher, tmp_path / "jobs", passes=4, engine=SweepBy(Pickling(), "mine")) == {}
    assert arrays(tmp_path / "jobs") == arrays(tmp_path / "alone")
    assert teacher.loaded == 1
    assert teacher.reading.device == "mine"
    run(teacher, tmp_path / "jobs", passes=4, engine=HERE)
    assert teacher.loaded == 1
    for note in (tmp_path / "jobs").glob("teachers/t/fingerprint-*"):
        note.unlink()
    run(teacher, tmp_path / "jobs", passes=4, engine=HERE)
    assert teacher.loaded == 2, "it is only compared"
    assert teacher.prepared == [4, 4, 2]
    assert teacher.reading.device == OPTIONS.device


@pytest.mark.parametrize("costly", [False, True])
def test_a_teacher_without_a_hash_is_asked_once(costly: bool, tmp_path: Path) -> None:
    teacher, store = Teacher(probed=True, costly=costly, identity="y"), Store(tmp_path, shard_rows=4)
    for _ in range(2):
        run(teacher, tmp_path, store=store, engine=HERE)
    assert (teacher.loaded, teacher.asked) == (1, 1)
    run(teacher, tmp_path, engine=HERE)
    assert (teacher.loaded, teacher.asked) == (2, 1 if costly else 2)


def test_a_worker_changes_its_teacher_with_the_job(tmp_path: Path) -> None:
    one, two = Teacher(name="one"), Teacher(name="two")
    two.row = [1.0, 0.0]
    store = Store(tmp_path, shard_rows=4)
    sweep([one, two], table(SENTENCES[:10]), store, replace(OPTIONS, engine=HERE))  # type: ignore[list-item]
    assert (one.loaded, two.loaded) == (1, 1)
    assert (one.prepared, two.prepared) == ([4, 4, 2], [4, 4, 2])
    assert len(store.units("teachers/one")) == len(store.units("teachers/two")) == 3


def test_what_is_said_and_what_is_left_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker that repeated a job was killed, perhaps while it wrote."""
    run(Teacher(), tmp_path, 4, engine=HERE)
    assert "no answer" not in capsys.readouterr().err
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(timeout=60)
    left = tmp_path / "teachers" / "t" / f".alloykit-{files._machine()}-{gone.pid}-1.tmp"
    left.touch()
    teacher = Teacher(every_text=False, name="u", identity="y")
    teacher.row = [torch.nan, torch.nan]
    run(teacher, tmp_path, 10, engine=HERE)
    assert "teacher u: no answer to 3 of 10 texts (rows 1, 5, 9, counted from 0)" in capsys.readouterr().err
    assert left.exists(), "of another teacher"
    run(Teacher(), tmp_path, 4, engine=HERE)
    assert not left.exists()
