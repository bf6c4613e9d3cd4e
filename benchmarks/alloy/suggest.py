"""Labelled texts that `alloykit suggest` chose, against as many that were drawn at random: students that continue with `labelled:`."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloykit.evaluation.answers import STUDENT, Answers
from alloykit.evaluation.significance import paired_interval
from alloykit.finished_runs.suggest_texts import suggest_texts
from alloykit.finished_runs.update_recipe import Changes
from alloykit.finished_runs.update_run import update_run
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.amalgamation import run_recipe
from benchmarks.alloy.methods import ALLOY
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import settings
from benchmarks.harness.data import read, write
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

COUNTS = (100, 300)  # labelled texts
EPOCHS = 4  # of a student that continues; the first one has the default, 16 here
CONTINUED = (f"training.epochs={EPOCHS}",)
SETTINGS = ("abstracts5", "ag_news")
SEEDS = (0, 1)
SUGGESTED, RANDOM = "suggested", "random"
BEFORE, NONE = "before", "none"  # none: the student only continues, so that its further steps are no gain of labels
Right = NDArray[np.bool_]


def run(data: Path, work: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"epochs": EPOCHS, "settings": {}}
    for name in SETTINGS:
        setting = next(s for s in settings() if s.name == name)
        seeds = [_once(Stages(data, work.parent, setting, PROFILE, seed, passes=0)) for seed in SEEDS]
        right = {way: np.concatenate([each[way] for each in seeds]) for way in seeds[0]}
        found["settings"][name] = {
            "title": setting.title,
            "seeds": len(SEEDS),
            "test_texts": len(right[NONE]),
            "accuracy": {way: float(hits.mean()) for way, hits in right.items()},
            "suggested_minus": {
                str(n): {
                    way: paired_interval(right[f"{SUGGESTED}, {n}"], right[way]) for way in (f"{RANDOM}, {n}", NONE)
                }
                for n in COUNTS
            },
        }
    return found


def _once(stages: Stages) -> dict[str, Right]:
    """Whether each test text was right: of the first student and of each student that continues, [n] bool."""
    folder = stages.folder / "suggest"
    first = run_recipe(stages.recipe("disjoint", ALLOY, folder / "run"), report=False)
    pool = read(stages.pool("disjoint"))
    labels = dict(zip(pool["text"], pool["label"], strict=True))
    found = {BEFORE: _right(first), NONE: _continued(first, folder / NONE, Changes(overrides=CONTINUED))}
    for n in COUNTS:
        drawn = random.Random(f"suggest {stages.seed}").sample(sorted(labels), n)
        chosen = {SUGGESTED: [suggestion.text for suggestion in suggest_texts(first, n)], RANDOM: drawn}
        for way, texts in chosen.items():
            file = folder / f"{way}-{n}.parquet"
            write({"text": texts, "label": [labels[text] for text in texts]}, file)
            changes = Changes(labelled=(str(file),), overrides=CONTINUED)
            found[f"{way}, {n}"] = _continued(first, folder / f"{way}-{n}", changes)
    shutil.rmtree(folder)
    return found


def _continued(first: RunFolder, output: Path, changes: Changes) -> Right:
    new = update_run(first, changes, output=output)
    return _right(new)


def _right(run_folder: RunFolder) -> Right:
    answers = Answers.load(run_folder.answers)
    return (answers.probabilities[STUDENT].argmax(-1) == answers.labels).numpy()


TABLE = Measurement("suggest", "suggested labels against random ones", run, "alloy")
