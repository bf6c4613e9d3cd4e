"""The texts of an export are a small sample, and a stopped export leaves the earlier one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import tiny
from commandline import write_csv

from alloykit.data.text_table import TextTable
from alloykit.errors import AlloyError
from alloykit.finished_runs import export_student as exporting
from alloykit.finished_runs.export_sample import CALIBRATED, COMPARED, export_sample
from alloykit.models.questions import QuestionPart
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import RECIPE
from alloykit.run_folder.lock import locked


def test_only_the_sampled_texts_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = write_csv(tmp_path / "t.csv", [[f"text {i}"] for i in range(2000)])
    monkeypatch.setattr(TextTable, "__getitem__", lambda *_: pytest.fail("a whole column was read"))
    found = export_sample({}, (), texts)
    (calibration, none), (compared, _) = found.calibration, found.compared
    assert none is None
    assert (len(calibration), len(compared)) == (CALIBRATED, COMPARED)
    assert not set(calibration) & set(compared)
    few = export_sample(
        {}, (), write_csv(tmp_path / "few.csv", [["one", "uno"], ["two", "due"]], ("text", "b")), text_pair="b"
    )
    assert sorted(few.calibration[0]) == sorted(few.compared[0]) == ["one", "two"]
    assert dict(zip(*few.compared, strict=True)) == {"one": "uno", "two": "due"}  # type: ignore[arg-type]


def test_labelled_pairs_stay_pairs_beside_other_texts(tmp_path: Path) -> None:
    """`--texts` without pairs: the accuracy is still that of pairs."""
    texts = write_csv(tmp_path / "t.csv", [["one"]])
    test = write_csv(tmp_path / "test.csv", [["two", "due", "x"], ["three", "tre", "y"]], ("text", "b", "label"))
    data = {"path": str(test), "text_pair": "b", "label": "label"}
    values = {"teachers": ["t"], "texts": str(test), "student": "s", "output": "run", "evaluate": {"data": data}}
    part = QuestionPart("", ("x", "y"), 0)
    found = export_sample({"": parse(values, Recipe)}, (part,), texts)
    assert found.compared == (["one", "two", "three"], [None, "due", "tre"])
    assert found.calibration == (["one"], None)
    assert (found.labelled[""].at, found.labelled[""].labels.tolist()) == (slice(1, 3), [0, 1])


@pytest.mark.parametrize("stopped_at", [1, 2])
def test_a_stopped_export_leaves_the_earlier_one(
    stopped_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes before or after the earlier export is out of the way."""

    class Written:
        def __init__(self, folder: Path, *_: object) -> None:
            self.folder = folder

        def write(self, *_: object, **__: object) -> None:
            self.folder.mkdir()
            (self.folder / "export.json").write_text("new")

    folder, target = tiny.classifier(tmp_path / "model", ["a", "b"]), tmp_path / "exported"
    target.mkdir()
    (target / "export.json").write_text("earlier")
    monkeypatch.setattr(exporting, "_Export", Written)
    monkeypatch.setattr(exporting, "export_sample", lambda *_, **__: None)
    replace, renamed = os.replace, list[Path]()

    def stopping(old: Any, new: Any) -> None:
        if Path(old) == target or Path(new) == target:
            renamed.append(old)
            if len(renamed) == stopped_at:
                raise KeyboardInterrupt
        replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stopping)
        with pytest.raises(KeyboardInterrupt):
            exporting.export_student(folder, output=target)
    assert (target / "export.json").read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exported", "model"]
    exporting.export_student(folder, output=target)
    assert (target / "export.json").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exported", "model"]


def test_no_other_process_replaces_the_student_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alloykit.run_folder.lock.SOON", 0.01)
    (tmp_path / RECIPE).write_text("")
    with locked(tmp_path), pytest.raises(AlloyError, match="no other process"):
        exporting.export_student(tmp_path)
