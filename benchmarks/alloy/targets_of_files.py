"""How good targets are on a set's test texts if they are fitted to the texts of any file. No student is trained. In float32."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.alloy.views import UNLIKE
from alloykit.outputs import chunks
from alloykit.progress import log_line
from benchmarks.alloy.methods import ALLOY, RIVALS, TITLES
from benchmarks.alloy.settings import CHOICE, set_of, settings
from benchmarks.alloy.students import TABLE as STUDENTS
from benchmarks.harness.stages import Stages

NAMES = ("ag_news", "abstracts5", "banking77-3", "google_snippets", "stackoverflow20")
SEED = 0
OWN = "own"  # the set's own texts, that no teacher has seen
Files = Callable[[Stages, Path], Iterable[tuple[dict[str, Any], Path]]]
WITHOUT = ALLOY | {"texts_per_label": 10**6}  # Eq. 26, with the energies standardised without texts that repeat others
WAYS = {"alloy": ALLOY, "by_energy": WITHOUT, "ensemble": RIVALS["ensemble"], "energy": RIVALS["energy"]}
HEADINGS = [(TITLES | {"by_energy": "Energies and numbers of labels (Eq. 26)"})[way] for way in WAYS]


def targets_of_files(data: Path, work: Path, files: Files) -> dict[str, Any]:
    """files: for the teachers of each setting, and a folder to write to, what is to be said of each pool, and its file. work: a folder in that of all
    benchmarks, which has the teachers."""
    found = []
    for name in NAMES:
        setting = next(s for s in settings() if s.name == name)
        stages = Stages(data, work.parent, setting, STUDENTS.sized, SEED, passes=0)
        of_setting = {"setting": name, "title": setting.title, "choice": set_of(setting) in CHOICE}
        for of_pool, path in files(stages, work / name):
            found.append(of_setting | of_pool | targets_of_a_file(stages, path))
            log_line(str(found[-1]))
    return {"pools": found}


def targets_of_a_file(stages: Stages, pool: Path) -> dict[str, Any]:
    """Accuracy of each way's targets on the test texts, fitted to the texts of a file; what Alloy says of these."""
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
            for name in ("label_agreement", "teacher_agreement"):
                found[name] = None if (value := context.state.get(name)) is None else float(value)
            agreement = found["label_agreement"]
            found["used"] = int(context.state["outcome"]) == ACCEPTED
            found["warned"] = not found["used"] or (agreement is not None and agreement < UNLIKE)
            found["left_out"] = int(context.state.get("repeats", 0))
            found["fitted_to"] = int(context.state["texts"])
    return found


def accuracies_of(pools: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of each way, in the mean over some pools, in %."""
    return [f"{100 * np.mean([pool['accuracy'][way] for pool in pools]):.1f}" for way in WAYS]
