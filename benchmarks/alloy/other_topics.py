"""Pools of texts that are about other topics than the teachers' labels: targets on the set's own test texts, and whether Alloy warns. No students. In float32."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer

from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.alloy.views import UNLIKE
from alloykit.outputs import chunks
from alloykit.progress import log_line
from benchmarks.alloy.foreign_texts import texts_of_a_source
from benchmarks.alloy.methods import ALLOY, BY_ENERGY, RIVALS
from benchmarks.alloy.settings import CHOICE, set_of, settings
from benchmarks.alloy.students import TABLE as STUDENTS
from benchmarks.harness.data import read, write
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

SOURCES = ("wiki_sentences", "sst2", "banking77", "abstracts5", "ag_news")
SIZE, LEAST = 1500, 500  # texts of a pool; a source with fewer is left out
NAMES = ("ag_news", "abstracts5", "banking77-3", "google_snippets", "stackoverflow20")
WAYS = {"alloy": ALLOY, "by_energy": BY_ENERGY, "ensemble": RIVALS["ensemble"], "energy": RIVALS["energy"]}
OWN = "own"  # the set's own texts, that no teacher has seen
SEED = 0


def run(data: Path, work: Path) -> dict[str, Any]:
    found = []
    for name in NAMES:
        setting = next(s for s in settings() if s.name == name)
        stages = Stages(data, work.parent, setting, STUDENTS.sized, SEED, passes=0)
        about = {"setting": name, "title": setting.title, "choice": set_of(setting) in CHOICE}
        for source, path in _pools(stages, data, work / name).items():
            found.append(about | {"source": source} | _asked(stages, path))
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


def _asked(stages: Stages, pool: Path) -> dict[str, Any]:
    """Accuracy of each way's targets on the test texts, fitted to a pool; what Alloy says of the pool."""
    texts = stages.texts_of(pool, want_labels=False)
    test = stages.texts_of(stages.test(), want_labels=True)
    for read_texts in (texts, test):
        for spec in (ALLOY, RIVALS["ensemble"]):
            prepared = stages.prepared("disjoint", read_texts, {"name": "routing", "of": spec})
            sweep(
                prepared.infos, prepared.texts, prepared.store(stages.knowledge("disjoint")), prepared.sweep_options()
            )
    found: dict[str, Any] = {"texts": len(texts), "accuracy": {}}
    for way, spec in WAYS.items():
        method = {"name": "routing", "of": spec}
        prepared, source = stages.outputs("disjoint", texts, method)
        context = replace(prepared.context, state=prepared.method.fit(source, prepared.context))
        asked = chunks(stages.outputs("disjoint", test, method)[1])
        parts = [part.targets for rows in asked if (part := prepared.method.supervise(rows, context)) is not None]
        right = torch.cat(parts).argmax(-1) == prepared.labels(test)
        found["accuracy"][way] = float(right.double().mean())
        if way == "alloy":
            agreement = context.state.get("label_agreement")
            found["label_agreement"] = None if agreement is None else float(agreement)
            found["used"] = int(context.state["outcome"]) == ACCEPTED
            found["warned"] = not found["used"] or (agreement is not None and float(agreement) < UNLIKE)
    return found


TABLE = Measurement("other_topics", "pools of texts about other topics", run, "alloy")
