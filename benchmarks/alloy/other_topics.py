"""Pools of texts that are about other topics than the teachers' labels: targets on the set's own test texts, and whether Alloy warns. No students. In float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from alloykit.progress import log_line
from benchmarks.alloy.foreign_texts import texts_of_a_source
from benchmarks.alloy.settings import CHOICE, set_of, settings
from benchmarks.alloy.students import TABLE as STUDENTS
from benchmarks.alloy.targets_of_a_file import targets_of_a_file
from benchmarks.harness.data import read, write
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

SOURCES = ("wiki_sentences", "sst2", "banking77", "abstracts5", "ag_news")
SIZE, LEAST = 1500, 500  # texts of a pool; a source with fewer is left out
NAMES = ("ag_news", "abstracts5", "banking77-3", "google_snippets", "stackoverflow20")
OWN = "own"  # the set's own texts, that no teacher has seen
SEED = 0


def run(data: Path, work: Path) -> dict[str, Any]:
    found = []
    for name in NAMES:
        setting = next(s for s in settings() if s.name == name)
        stages = Stages(data, work.parent, setting, STUDENTS.sized, SEED, passes=0)
        about = {"setting": name, "title": setting.title, "choice": set_of(setting) in CHOICE}
        for source, path in _pools(stages, data, work / name).items():
            found.append(about | {"source": source} | targets_of_a_file(stages, path))
            log_line(str(found[-1]))
    return {"pools": found}


def _pools(stages: Stages, data: Path, folder: Path) -> dict[str, Path]:
    """A file for each pool: the set's own texts, and those of each other source of which the trimmed encoder has all word pieces."""
    tokenizer = AutoTokenizer.from_pretrained(str(stages.teacher_folders("disjoint")[0]))
    pools = {OWN: list(read(stages.pool("disjoint"))["text"])}
    for source in (s for s in SOURCES if s not in stages.setting.datasets):
        pools[source] = texts_of_a_source(data, source, tokenizer, SIZE)
    files = {}
    for source, texts in pools.items():
        if len(texts) >= LEAST:
            files[source] = folder / f"{source}.parquet"
            write({"text": texts, "label": [None] * len(texts)}, files[source])
    return files


TABLE = Measurement("other_topics", "pools of texts about other topics", run, "alloy")
