"""100 labelled texts that `alloykit suggest` chose, against 100 that were drawn at random: students that continue with `labelled:`."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.evaluation.answers import STUDENT, Answers
from alloykit.evaluation.significance import interval, paired_interval
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

LABELLED = 100
EPOCHS = 4  # of a student that continues; the first one has the default, 16 here
CONTINUED = (f"training.epochs={EPOCHS}",)
SETTINGS = ("abstracts5",)
SEEDS = (0,)
SUGGESTED, RANDOM, NONE = (
    "suggested",
    "random",
    "none",
)  # none: the student only continues, so that its further steps are no gain of labels


def run(data: Path, work: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"labelled": LABELLED, "epochs": EPOCHS, "settings": {}}
    for name in SETTINGS:
        setting = next(s for s in settings() if s.name == name)
        seeds = [_once(Stages(data, work.parent, setting, PROFILE, seed, passes=0)) for seed in SEEDS]
        right = {way: np.stack([each[way] for each in seeds]) for way in seeds[0]}
        found["settings"][name] = {
            "title": setting.title,
            "seeds": len(SEEDS),
            "test_texts": int(right[NONE].shape[1]),
            "accuracy": {way: float(hits.mean()) for way, hits in right.items()},
            "interval": {way: interval(hits[0]) for way, hits in right.items()} if len(SEEDS) == 1 else None,
            "suggested_against": {way: paired_interval(right[SUGGESTED], right[way]) for way in (RANDOM, NONE)},
        }
    return found


def _once(stages: Stages) -> dict[str, Any]:
    """Whether each test text was right: of the first student and of each student that continues, [n] bool."""
    folder = stages.folder / "suggest"
    recipe = stages.recipe("disjoint", ALLOY, folder / "run")
    first = run_recipe(recipe, report=False)
    pool = read(stages.pool("disjoint"))
    labels = dict(zip(pool["text"], pool["label"], strict=True))
    drawn = random.Random(f"suggest {stages.seed}").sample(sorted(labels), LABELLED)
    suggested = [suggestion.text for suggestion in suggest_texts(first, LABELLED)]
    found = {"before": _right(first)}
    for way, texts in {SUGGESTED: suggested, RANDOM: drawn}.items():
        file = folder / f"{way}.parquet"
        write({"text": texts, "label": [labels[text] for text in texts]}, file)
        found[way] = _continued(first, folder / way, Changes(labelled=(str(file),), overrides=CONTINUED))
    found[NONE] = _continued(first, folder / NONE, Changes(overrides=CONTINUED))
    shutil.rmtree(folder)
    return found


def _continued(first: RunFolder, output: Path, changes: Changes) -> Any:
    new, _ = update_run(first, changes, output=output)
    return _right(new)


def _right(run_folder: RunFolder) -> Any:
    answers = Answers.load(run_folder.answers)
    return (answers.probabilities[STUDENT].argmax(-1) == answers.labels).numpy()


TABLE = Measurement("suggest", "100 suggested labels against 100 random ones", run, "alloy")
