"""The fetched sets: every text once, no test text in another part, the labels of DATA.md, and nothing kept of a package with another checksum."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks import packaged_sets
from benchmarks.harness.data import read
from benchmarks.harness.sets import BBC_NEWS, REUTERS
from benchmarks.packages import Download

Parts = dict[str, list[tuple[str, str]]]


def package(files: dict[str, str], tmp_path: Path) -> tuple[Download, str]:
    """A download that brings a package with these files, and the SHA-256 of the package."""
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return lambda requirement, folder: zipfile.ZipFile(path), hashlib.sha256(path.read_bytes()).hexdigest()


def table(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(("Category\tText", "d\tstring", "class\t", *(f"{label}\t{text}" for text, label in rows))) + "\n"


def parts(folder: Path, labels: tuple[str, ...]) -> Parts:
    """Texts and names of labels of every part."""
    found = {part: read(folder / f"{part}.parquet") for part in ("train", "validation", "test")}
    assert json.loads((folder / "info.json").read_text(encoding="utf-8")) == {"label_names": list(labels)}
    return {part: [(row["text"], labels[row["label"]]) for row in rows] for part, rows in found.items()}


def test_tables_of_orange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: empty texts, the second of two equal texts, texts with two labels, and training texts that are also test texts."""
    train = [(f"text {i}", "earn") for i in range(19)] + [("twice", "acq"), ("twice", "acq")]
    train += [("two labels", "acq"), ("Two labels", "ship"), (" ", "ship"), ("IN THE TEST", "ship")]
    test = [("in  the test", "ship"), ("other", "grain"), ("other", "grain")]
    stem = "orangecontrib/text/datasets/reuters-r8"
    download, sha256 = package({f"{stem}-train.tab": table(train), f"{stem}-test.tab": table(test)}, tmp_path)
    monkeypatch.setattr(packaged_sets, "ORANGE", ("orange", sha256))
    packaged_sets.fetch("reuters_r8", tmp_path / "data", download)
    found = parts(tmp_path / "data" / "reuters_r8", REUTERS.labels)
    assert found["test"] == [("in the test", "ship"), ("other", "grain")]
    assert len(found["validation"]) == 2, "a tenth of the training texts"
    assert sorted(found["train"] + found["validation"]) == sorted([*train[:19], ("twice", "acq")])
    packaged_sets.fetch("reuters_r8", tmp_path / "data", lambda *_: pytest.fail("it is there already"))


def test_one_file_for_every_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [(f"news {i}\n\nof  sports", BBC_NEWS.labels[i % 5]) for i in range(20)]
    files = {f"corpus/bbcnews/data/{label}/{i}.txt": text for i, (text, label) in enumerate(names)}
    download, sha256 = package(files | {"corpus/run_me.py": "import os"}, tmp_path)
    monkeypatch.setattr(packaged_sets, "CORPUS", ("corpus", sha256))
    monkeypatch.setattr(packaged_sets, "BBC_SIZES", {"test": 5, "validation": 3})
    packaged_sets.fetch("bbc_news", tmp_path / "data", download)
    found = parts(tmp_path / "data" / "bbc_news", BBC_NEWS.labels)
    assert {part: len(rows) for part, rows in found.items()} == {"test": 5, "validation": 3, "train": 12}
    assert sorted(row for rows in found.values() for row in rows) == sorted(
        (f"news {i} of sports", b) for i, (_, b) in enumerate(names)
    )


def test_a_package_with_another_checksum_is_not_kept(tmp_path: Path) -> None:
    download, _ = package({"corpus/bbcnews/data/tech/1.txt": "another text"}, tmp_path)
    with pytest.raises(ValueError, match="not used"):
        packaged_sets.fetch("bbc_news", tmp_path / "data", download)
    assert list((tmp_path / "data").iterdir()) == []
