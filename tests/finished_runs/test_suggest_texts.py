"""`suggest`: a CSV of texts of the pool that `labelled:` reads once somebody has filled in the labels."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from commandline import Call, Finished, Taught, collect

import alloykit
from alloykit.data import load_texts


def written(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_file_can_be_filled_in_and_read(finished: Finished, taught: Taught, tmp_path: Path, call: Call) -> None:
    path = tmp_path / "to-label.csv"
    result = call("suggest", finished.folder, "--n", "20", "--output", path)
    assert result.code == 0, result.err
    assert "20 texts" in result.out
    rows = written(path)
    assert list(rows[0]) == ["text", "label", "suggested", "probability", "why"]
    pool = set(load_texts(taught.data).table["text"])
    assert len({row["text"] for row in rows}) == 20
    assert {row["text"] for row in rows} <= pool
    assert all(row["label"] == "" and row["why"] and 0 < float(row["probability"]) <= 1 for row in rows)
    answers = alloykit.Run(finished.folder).predict([row["text"] for row in rows])
    assert [row["suggested"] for row in rows] == [a["label"] for a in answers]
    assert max([row["suggested"] for row in rows].count(name) for name in {r["suggested"] for r in rows}) <= 8
    again = tmp_path / "again.csv"
    assert call("suggest", finished.folder, "--n", "20", "--output", again).code == 0
    assert again.read_bytes() == path.read_bytes(), "the same run suggests the same texts"
    # Some labels are filled in; rows without one are counted and left out.
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace(f"{rows[0]['text']},,", f"{rows[0]['text']},refund,")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.warns(alloykit.AlloyWarning, match="19 missing label"):
        found = load_texts(path, want_labels=True)
    assert found.table["text"] == [rows[0]["text"]]
    assert found.table["label"] == ["refund"]


def test_labelled_texts_are_not_suggested_again(finished: Finished, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished.folder, run, copy_function=shutil.copy2)
    first = alloykit.suggest(run, 5, output=tmp_path / "a.csv")
    rows = written(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": row["suggested"]} for row in rows)
    recipe = run / "recipe.yaml"
    block = f"labelled:\n  data:\n    path: {tmp_path / 'a.csv'}\n    label: label\n"
    recipe.write_text(recipe.read_text().replace("labelled: null\n", block))
    second = alloykit.suggest(run, 5)
    assert not {s.text for s in first} & {s.text for s in second}


BAD = {
    "no run": (("nowhere",), ("a recipe file",)),
    "no texts": (("RUN", "--n", "0"), ("at least one text", "--n 100")),
    "a file with labels": (("RUN", "--output", "labels.csv"), ("may have labels", "--overwrite")),
    "outputs elsewhere": (("BARE",), ("the teachers' outputs", "--cache")),
    "no student": (("UNFINISHED",), ("a finished run",)),
}


@pytest.mark.parametrize("name", BAD)
def test_suggest_refuses(
    name: str, finished: Finished, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text("text,label\n")
    shutil.copytree(finished.folder, tmp_path / "bare", ignore=shutil.ignore_patterns("cache"))
    shutil.copytree(finished.folder, tmp_path / "unfinished", ignore=shutil.ignore_patterns("cache", "student"))
    arguments, words = BAD[name]
    places = {"RUN": finished.folder, "BARE": tmp_path / "bare", "UNFINISHED": tmp_path / "unfinished"}
    result = call("suggest", *(places.get(a, a) for a in arguments))
    collect(f"suggest: {name}", result)
    result.refused(*words)
    assert not (tmp_path / "to-label.csv").exists()
    assert (tmp_path / "labels.csv").read_text() == "text,label\n"
