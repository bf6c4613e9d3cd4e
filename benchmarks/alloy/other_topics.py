"""Pools of texts that are about other topics than the teachers' labels: targets on the set's own test texts, and whether Alloy warns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from benchmarks.alloy.foreign_texts import texts_of_a_source
from benchmarks.alloy.targets_of_files import OWN, targets_of_files
from benchmarks.harness.data import read, write
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

SOURCES = ("wiki_sentences", "sst2", "banking77", "abstracts5", "ag_news")
SIZE, LEAST = 1500, 500  # texts of a pool; a source with fewer is left out


def run(data: Path, work: Path) -> dict[str, Any]:
    return targets_of_files(data, work, lambda stages, folder: _pools(stages, data, folder))


def _pools(stages: Stages, data: Path, folder: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """A file for each pool: the set's own texts, and those of each other source of which the trimmed encoder has all word pieces."""
    tokenizer = AutoTokenizer.from_pretrained(str(stages.teacher_folders("disjoint")[0]))
    pools = {OWN: list(read(stages.pool("disjoint"))["text"])}
    for source in (s for s in SOURCES if s not in stages.setting.datasets):
        pools[source] = texts_of_a_source(data, source, tokenizer, SIZE)
    for source, texts in pools.items():
        if len(texts) >= LEAST:
            path = folder / f"{source}.parquet"
            write({"text": texts, "label": [None] * len(texts)}, path)
            yield {"source": source}, path


TABLE = Measurement("other_topics", "pools of texts about other topics", run, "alloy")
