"""Folders of files, labelled in a stream."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
import torch
from commandline import Call

import alloykit
from alloykit.commands.predict import predict
from alloykit.errors import AlloyError
from alloykit.finished_runs import predict_files as module
from alloykit.finished_runs.predict_files import predict_files
from alloykit.models.export import ESTIMATED, save_in_config
from alloykit.serving.none_of_these_file import save_none_of_these
from alloykit.serving.predictor import Predictor
from alloykit.stages.unusual_texts import fit_none_of_these


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files; the first one has a row without a text in its second row group."""
    folder = tmp_path / "texts"
    folder.mkdir()
    texts: list[str | None] = [*tiny.texts(30)]
    texts[20] = None
    pq.write_table(pa.table({"text": texts}), folder / "a.parquet", row_group_size=8)
    (folder / "b.txt").write_text("\n".join(tiny.texts(5, seed=4)))
    return folder


def test_answers_are_those_of_predict_in_order(
    models: dict[str, Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS", 7)
    written = predict_files(models["billing"], folder, tmp_path / "to", all_probabilities=True)
    assert [path.name for path in written] == ["a.parquet.parquet", "b.txt.parquet"]
    for path, source in zip(written, ("a.parquet", "b.txt"), strict=True):
        found = pq.read_table(path).to_pylist()
        wanted = list(predict(models["billing"], folder / source, all_probabilities=True))
        assert [row["row"] for row in found] == list(range(len(wanted)))
        for row, answer in zip(found, wanted, strict=True):
            assert row["label"] == answer["label"]
            if answer["label"] is None:
                assert row["error"] == "text is not a string"
                assert row["probability"] is None
            else:
                assert row["error"] is None
                for label, p in answer["probabilities"].items():
                    assert row[f"p({label})"] == pytest.approx(p, abs=2e-6)
    assert pq.read_table(written[0])["row"].null_count == 0


def test_every_option_of_predict_has_its_column(
    models: dict[str, Path], folder: Path, tmp_path: Path, call: Call
) -> None:
    model = shutil.copytree(models["billing"], tmp_path / "model", copy_function=shutil.copyfile)
    save_in_config(model, {ESTIMATED: {"refund": 0.75, "charge": None, "invoice": 0.5}})
    student = Predictor.load(model, device="cpu")
    p, states = student.with_states(tiny.texts(30, seed=8))
    fitted, _ = fit_none_of_these(student, states, p.argmax(-1), torch.ones(30, dtype=torch.bool))
    save_none_of_these(model, fitted)
    options = ("--none-of-these", "--estimated-accuracy")
    result = call("predict", model, folder, "--to", tmp_path / "to", *options)
    assert result.code == 0, result.err
    found = pq.read_table(tmp_path / "to" / "a.parquet.parquet").to_pylist()
    assert list(found[0]) == ["row", "label", "probability", "none_of_these", "estimated_accuracy", "error"]
    for row, answer in zip(found, call("predict", model, folder / "a.parquet", *options).lines, strict=True):
        for key in ("none_of_these", "estimated_accuracy"):
            assert row[key] == (None if answer.get(key) is None else pytest.approx(answer[key], abs=1e-5))
    assert "finished already" not in call("predict", model, folder, "--to", tmp_path / "to").err, "another request"
    call("predict", model, folder, "--to", tmp_path / "to", "--onnx").refused("an exported student")
    call("predict", models["billing"], folder, "--to", tmp_path / "a", "--estimated-accuracy").refused("an estimated")


@pytest.mark.slow
def test_files_are_answered_by_the_exported_student(models: dict[str, Path], folder: Path, tmp_path: Path) -> None:
    place = alloykit.export(models["billing"], texts=folder / "b.txt", output=tmp_path / "onnx")
    written = predict_files(place, folder, tmp_path / "to", onnx=True)
    for path, source in zip(written, ("a.parquet", "b.txt"), strict=True):
        wanted = list(predict(place, folder / source, onnx=True))
        assert [row["label"] for row in pq.read_table(path).to_pylist()] == [answer["label"] for answer in wanted]


def test_finished_files_are_kept_and_changed_ones_made_again(
    models: dict[str, Path], folder: Path, tmp_path: Path, call: Call
) -> None:
    command = ["predict", models["billing"], folder, "--to", tmp_path / "to"]
    first = call(*command)
    assert first.out == f"answers: 2 files in {tmp_path / 'to'}\n"
    rows = sum(pq.read_metadata(path).num_rows for path in (tmp_path / "to").iterdir())
    assert f"predict: {rows} rows in " in first.err, "progress is counted in rows: one file may take hours"
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "to").iterdir()}
    (tmp_path / "to" / "a.parquet.parquet").write_bytes(b"damaged")
    os.utime(folder / "b.txt", ns=(1, 1))
    again = call(*command)
    assert "finished already" not in again.err
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "to").iterdir()} != times
    last = call(*command)
    assert "2 of 2 files are finished already" in last.err
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == sorted(times)


def test_a_damaged_file_is_never_finished_and_the_files_before_it_are(
    models: dict[str, Path], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS", 7)
    folder, to = tmp_path / "texts", tmp_path / "to"
    folder.mkdir()
    ragged = "text,n\n" + "a text,1\n" * 10 + "another\n"
    (folder / "b.csv").write_text(ragged)
    for _ in range(2):  # the second time, nothing counts as finished
        call("predict", models["billing"], folder / "b.csv", "--to", to).refused("b.csv", "line 12")
        assert list(to.glob("*.parquet")) == []
    (folder / "a.txt").write_text("a text\n" * 10)
    (folder / "c.txt").write_text("a text\n")
    for _ in range(2):
        call("predict", models["billing"], folder, "--to", to).refused("b.csv", "line 12")
        assert [path.name for path in to.iterdir()] == ["a.txt.parquet"]
    (folder / "b.csv").unlink()
    monkeypatch.setattr(module, "ROWS", 3_000)
    (folder / "b.csv.gz").write_bytes(gzip.compress("".join(f"{n}\n" for n in range(9_000)).encode())[:-2_000])
    call("predict", models["billing"], folder / "b.csv.gz", "--to", to, "--text", "0").refused("b.csv.gz")
    assert [path.name for path in to.iterdir()] == ["a.txt.parquet"]


def test_files_that_are_not_read_are_named(models: dict[str, Path], tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    for name in ("a.txt", "b.xlsx", "part-0000", "d.csv.bz2"):
        (folder / name).write_text("a text\n")
    (folder / "gone.csv").symlink_to("nowhere.csv")
    found = call("predict", models["billing"], folder, "--to", tmp_path / "to")
    assert found.out.startswith("answers: 1 file")
    assert f"warning: Skipped in '{folder}'" in found.err
    for name in ("b.xlsx", "part-0000", "d.csv.bz2", "more", "gone.csv"):
        assert f"'{name}'" in found.err


def test_answers_to_another_file_of_the_same_name_are_not_replaced(
    models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    to = tmp_path / "to"
    for n, month in enumerate(("jan", "feb")):
        (tmp_path / month).mkdir()
        (tmp_path / month / "t.txt").write_text("a text\n" * (n + 1))
    assert call("predict", models["billing"], tmp_path / "jan" / "t.txt", "--to", to).code == 0
    call("predict", models["billing"], tmp_path / "feb", "--to", to).refused("another file 't.txt'", "Choose another")
    assert pq.read_metadata(to / "t.txt.parquet").num_rows == 1
    (tmp_path / "jan" / "t.txt").write_text("a text\n" * 3)  # the same file, changed
    assert call("predict", models["billing"], tmp_path / "jan", "--to", to).code == 0
    assert pq.read_metadata(to / "t.txt.parquet").num_rows == 3
    (tmp_path / "jan").rename(tmp_path / "moved")
    assert "1 of 1 files are finished already" in call("predict", models["billing"], tmp_path / "moved", "--to", to).err


def test_mistakes(models: dict[str, Path], folder: Path, tmp_path: Path, call: Call) -> None:
    with pytest.raises(AlloyError, match="a column 'body'"):
        predict_files(models["billing"], folder / "a.parquet", tmp_path / "to", text="body")
    with pytest.raises(AlloyError, match="an existing file or folder.*nothing at"):
        predict_files(models["billing"], tmp_path / "nothing", tmp_path / "to")
    with pytest.raises(AlloyError, match="local or ray"):
        predict_files(models["billing"], folder, tmp_path / "to", engine="dask")
    block = "{name: ray, worker: 4}"
    call("predict", models["billing"], folder, "--to", tmp_path / "to", "--engine", block).refused(
        "local or ray", "worker"
    )
    call("predict", models["billing"], "-", "--to", tmp_path / "to").refused("file or folder", "--to")
    call("predict", models["billing"], folder, "--engine", "ray").refused("--to FOLDER with --engine")


def test_odd_places_of_answers(models: dict[str, Path], folder: Path, tmp_path: Path) -> None:
    """A pipe that would wait for a writer, a name that is not UTF-8, links of one name, and the folder of the texts itself."""
    to = tmp_path / "to-\udcff"
    to.mkdir()
    os.mkfifo(to / "b.txt.parquet")
    (to / "a.parquet.parquet").write_bytes(b"PAR1")
    written = predict_files(models["billing"], folder, to)
    assert [path.is_file() and path.stat().st_size > 500 for path in written] == [True, True]
    links = tmp_path / "links"
    for n, name in enumerate(("x", "y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.txt").write_text("a text\n" * (n + 1))
        links.mkdir(exist_ok=True)
        (links / f"{name}.txt").symlink_to(tmp_path / name / "part.txt")
    written = predict_files(models["billing"], links, tmp_path / "of-links")
    assert [pq.read_metadata(path).num_rows for path in written] == [1, 2]
    with pytest.raises(AlloyError, match="another folder for the answers"):
        predict_files(models["billing"], folder, folder)
