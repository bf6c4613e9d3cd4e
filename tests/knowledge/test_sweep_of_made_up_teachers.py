"""When a sweep loads a teacher, what it compares, and what it refuses. The teacher here computes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import fsspec
import pytest
import torch
from made_up_teacher import Teacher, run

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import logits_unit


def notes(folder: Path) -> list[str]:
    return [path.name for path in (folder / "teachers" / "t").glob("fingerprint-*")]


def test_only_what_is_missing_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teacher = Teacher()
    assert list(run(teacher, tmp_path, passes=7)) == ["t"]
    assert "sweep: 1 teacher × 10 texts × (1 plain + 8 Monte-Carlo passes)" in capsys.readouterr().err
    assert teacher.prepared == [4, 4, 2]
    assert run(teacher, tmp_path, passes=7) == {}
    run(teacher, tmp_path, 15, passes=7)
    assert teacher.prepared == [4, 4, 2, 4, 1]
    assert teacher.loaded == 2
    other = Teacher()
    assert run(other, tmp_path, 15) == {}
    assert (other.loaded, other.prepared) == (1, []), "it is compared only, and this read nothing"


def test_a_teacher_is_known_by_how_it_reads_and_what_the_store_says(tmp_path: Path) -> None:
    run(Teacher(), tmp_path)
    known = notes(tmp_path)
    assert len(known) == 1
    for change in ({"max_length": 16}, {"dropout": 0.5}):
        teacher = Teacher(**{key: value for key, value in change.items() if key == "max_length"})
        if "max_length" in change:
            with pytest.raises(AlloyError, match="max_length = 16"):
                run(teacher, tmp_path, **change)
        else:
            run(teacher, tmp_path, **change)
        assert teacher.loaded == 1
    record = tmp_path / "teachers" / "t" / "teacher.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"weights": 64 * "c"}))
    with pytest.raises(AlloyError, match="weights"):
        run(Teacher(), tmp_path)


def test_a_sampler_of_the_caller_or_a_loaded_teacher_leaves_no_note(tmp_path: Path) -> None:
    for n, more in enumerate(({"sampler": object()}, {"loaded": {"t": Teacher()}})):
        folder = tmp_path / str(n)
        for _ in range(2):
            teacher = Teacher()
            run(teacher, folder, **more)
            assert teacher.loaded == ("sampler" in more)
        assert notes(folder) == []


@pytest.mark.parametrize("costly", [False, True])
def test_a_teacher_without_a_hash_is_asked_once_in_a_process(costly: bool, tmp_path: Path) -> None:
    """Of a finished sweep a service is not asked, because that costs money."""
    teacher = Teacher(probed=True, costly=costly, identity="y")
    run(teacher, tmp_path)
    assert (teacher.loaded, teacher.asked) == (1, 1)
    store = Store(tmp_path)
    for _ in range(2):
        run(teacher, tmp_path, store=store)
    assert teacher.asked == (1 if costly else 2)
    assert teacher.loaded == (3 if costly else 2)
    run(teacher, tmp_path, 12, store=store)
    assert teacher.asked == 2
    assert notes(tmp_path) == []


def test_a_remote_store_has_no_known_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: pytest.fail("it is asked"))
    run(Teacher(), "memory://made-up-sweep")
    fsspec.filesystem("memory").rm("/made-up-sweep", recursive=True)


def test_a_teacher_that_reads_the_beginning_is_another_one_than_one_that_reads_parts(tmp_path: Path) -> None:
    run(Teacher(long_texts="parts"), tmp_path)
    with pytest.raises(AlloyError, match="long_texts = head; got long_texts = parts"):
        run(Teacher(), tmp_path, 12)


def test_a_teacher_that_has_not_read_its_rows_adds_to_the_outputs(tmp_path: Path) -> None:
    run(Teacher(rows_of_texts=64 * "d"), tmp_path)
    run(Teacher(), tmp_path, 12)
    store = Store(tmp_path)
    for shard, rows in store.shards().rows_of.items():
        assert len(store.answers(logits_unit("t", shard), rows)["logits"]) == rows


@pytest.mark.parametrize(
    ("row", "every_text", "words"),
    [
        ([torch.nan, torch.nan], True, "Its weights are damaged"),
        ([torch.inf, 0.0], True, "Its weights are damaged"),
        ([torch.nan, 0.0], False, "must be NaN for every label"),
        ([torch.inf, torch.nan], False, "must be NaN for every label"),
        ([torch.nan, torch.nan], False, None),
    ],
)
def test_what_is_not_finite_is_refused(row: list[float], every_text: bool, words: str | None, tmp_path: Path) -> None:
    teacher = Teacher(every_text=every_text, identity="y")
    teacher.row = row  # type: ignore[assignment]
    if words is None:
        run(teacher, tmp_path)
    else:
        with pytest.raises(AlloyError, match=f"finite outputs from teacher 't'; got NaN or infinity. .*{words}"):
            run(teacher, tmp_path)
    assert bool(Store(tmp_path).units("teachers/t")) is (words is None)
    assert len(Store(tmp_path).shards()) == 3
