"""Sentences and phrases of Django's pages in many languages, in the package django. The label is the language."""

from __future__ import annotations

import ast
import re
import zipfile
from pathlib import Path

from benchmarks.harness.sets import LANGUAGES
from benchmarks.packaged_sets.rows import Rows, distinct, put, sizes
from benchmarks.packages import Download, Package

PACKAGE = Package("django==5.2.19", "5965d974a5218a2b68a11dd1276434707f23886525c23f0598eccedaf4f4ca00")
QUOTED = r'"(?:[^"\\]|\\.)*"'
TRANSLATION = re.compile(rf"^msgstr(?:\[\d\])? ((?:{QUOTED}\s*)+)", re.MULTILINE)
PLACEHOLDER = re.compile(r"%\(\w*\)\w|%\w|\{\w*\}|<[^>]*>")  # what a program fills in, and HTML
SHORTEST = 20  # characters of a text; a shorter one is often the same in several languages


def translations(target: Path, work: Path, download: Download) -> None:
    """Every translation in a .po file of a language of the set. Phrases that two languages share are dropped."""
    rows: Rows = []
    with zipfile.ZipFile(PACKAGE.file(work, download)) as package:
        for name in sorted(n for n in package.namelist() if n.endswith("/LC_MESSAGES/django.po")):
            language = name.split("/")[-3]
            if language in LANGUAGES.labels:
                _header, *texts = map(_plain, TRANSLATION.findall(package.read(name).decode("utf-8")))
                rows += [(text, language) for text in texts if len(text) >= SHORTEST]
    rows = distinct(rows)
    put(target, LANGUAGES, rows, sizes(rows))


def _plain(quoted: str) -> str:
    text = "".join(ast.literal_eval(part) for part in re.findall(QUOTED, quoted))
    return " ".join(PLACEHOLDER.sub("", text).split())
