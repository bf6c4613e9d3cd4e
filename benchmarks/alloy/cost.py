"""What Alloy adds to the time of sweep and training: whole runs without cached outputs, compared with MUKA without and with Monte-Carlo passes."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path
from typing import Any

from alloykit.progress import set_quiet
from alloykit.stages.amalgamation import run_recipe
from benchmarks.alloy.methods import K
from benchmarks.alloy.settings import settings
from benchmarks.alloy.students import TABLE as STUDENTS
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement, in_turns, ratio

ROUNDS = 3
WAYS: dict[str, dict[str, Any]] = {
    "MUKA, one plain pass": {"name": "muka", "passes": 0},
    "Alloy": {"name": "alloy"},
    f"MUKA, K = {K}": {"name": "muka", "passes": K},
    "MUKA, K = 16 (its default)": {"name": "muka", "passes": 16},
}


def run(data: Path, work: Path) -> dict[str, Any]:
    found = {}
    for name in ("ag_news", "banking77-10"):
        setting = next(s for s in settings() if s.name == name)
        stages = Stages(data, work.parent, setting, STUDENTS.sized, 0, passes=0)
        parts: dict[str, list[float]] = {way: [] for way in WAYS}
        times = in_turns({way: _once(stages, spec, parts[way]) for way, spec in WAYS.items()}, ROUNDS)
        found[name] = {
            "title": setting.title,
            "texts": stages.profile.texts,
            "seconds": {way: round(statistics.median(t), 1) for way, t in times.items()},
            "of_which_training": {way: round(statistics.median(t), 1) for way, t in parts.items()},
            "alloy_against": {way: ratio(times, "Alloy", way) for way in WAYS if way != "Alloy"},
        }
    return {"rounds": ROUNDS, "settings": found}


def _once(stages: Stages, spec: dict[str, Any], trained: list[float]) -> Any:
    def run_it() -> None:
        folder = stages.folder / "cost"
        shutil.rmtree(folder, ignore_errors=True)
        recipe = stages.recipe("disjoint", spec, folder)
        set_quiet(True)
        done = run_recipe(recipe.model_copy(update={"evaluate": None}), report=False)
        set_quiet(False)
        trained.append(done.metrics["seconds"]["training"])
        shutil.rmtree(folder)

    return run_it


TABLE = Measurement("cost", "what Alloy adds to the time of a run", run, "alloy")
