"""Phrases of SenticNet 6, in the package senticnet. The label is the mood that SenticNet derives for a phrase."""

from __future__ import annotations

import ast
import re
import zipfile
from pathlib import Path

from benchmarks.harness.sets import MOODS
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("senticnet==1.6", "aa0ce9970fc4a8ca1f9dc0f703ed8fb3e9e337705e80f7968a8e7fc96071ce1a")
ENTRY = re.compile(r"^senticnet\[('.*'|\".*\")\] = (\[.*\])$", re.MULTILINE)
MOOD = 4  # its place in an entry
FEWEST = 2  # words of a phrase


def phrases(target: Path, work: Path, download: Download) -> None:
    """Every phrase of two or more words. The file is read as text: it is a program, and is not run."""
    with zipfile.ZipFile(PACKAGE.file(work, download)) as package:
        entries = ENTRY.findall(package.read("senticnet/senticnet6.py").decode("utf-8"))
    rows: Rows = []
    for name, values in entries:
        phrase = ast.literal_eval(name).replace("_", " ")
        if len(phrase.split()) >= FEWEST:
            rows.append((phrase, ast.literal_eval(values)[MOOD].removeprefix("#")))
    rows = distinct(rows)
    put(target, MOODS, rows, sizes(rows))
