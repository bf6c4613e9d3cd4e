"""Diagnoses in French: the tenth International Classification of Diseases, in npm's package icd10. The label is the chapter."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from benchmarks.harness.sets import DIAGNOSES
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("npm:icd10@1.0.1", "5b7893b1a70abd980d0f780bb750c8ccb0c9ffcdfef45d3b3d1c1ac4c175f80b")
CHAPTERS = [*range(1, 20), 21]  # one for each label; chapter 20 has 24,000 accidents, chapter 22 has ten codes
CODE = (
    4  # characters of a code of a diagnosis; longer ones divide a diagnosis further, most of them by part of the body
)


def names(target: Path, work: Path, download: Download) -> None:
    """The names of the diagnoses of all chapters that are labels of the set."""
    rows: Rows = []
    with tarfile.open(PACKAGE.file(work, download)) as package:
        for chapter, label in zip(CHAPTERS, DIAGNOSES.labels, strict=True):
            file = package.extractfile(f"package/data/2016/chapter_{chapter}_cim10_detailed_fr.json")
            assert file is not None
            rows += [(entry["name"], label) for entry in json.load(file) if len(entry["code"]) == CODE]
    rows = distinct(rows)
    put(target, DIAGNOSES, rows, sizes(rows))
