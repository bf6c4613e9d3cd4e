"""What Alloy adds to the time of a run: whole runs without cached outputs, in CPU seconds, beside Vanilla KD and MUKA.

In float32, because every CPU is fast in it: with bfloat16 on a CPU that does not have it, teachers and training are far slower and Alloy's own work is not.
"""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from alloykit.precision import Precision
from alloykit.progress import log_line, set_quiet
from alloykit.stages.amalgamation import run_recipe
from benchmarks.alloy.methods import K
from benchmarks.alloy.settings import settings
from benchmarks.alloy.students import TABLE as STUDENTS
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement, ratio

PRECISION: Precision = "float32"
ROUNDS = 2
WAYS: dict[str, dict[str, Any]] = {
    "Vanilla KD": {"name": "vanilla_kd"},
    "Alloy": {"name": "alloy"},
    f"MUKA, K = {K}": {"name": "muka", "passes": K},
}
SETTINGS = {"ag_news": tuple(WAYS), "banking77-10": ("Vanilla KD", "Alloy")}  # setting: what is run


def run(data: Path, work: Path) -> dict[str, Any]:
    found = {}
    for name, ways in SETTINGS.items():
        setting = next(s for s in settings() if s.name == name)
        stages = Stages(data, work.parent, setting, replace(STUDENTS.sized, precision=PRECISION), 0, passes=0)
        # Teachers are trained and texts are written now: they are not a part of the time.
        stages.recipe("disjoint", WAYS["Alloy"], stages.folder / "cost")
        times: dict[str, list[float]] = {way: [] for way in ways}
        parts: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):  # in turns: other work on the machine affects all alike
            for way in ways:
                begun = time.process_time()
                parts[way].append(_training(stages, WAYS[way]))
                times[way].append(time.process_time() - begun)
                log_line(f"{setting.title}, {way}: {times[way][-1]:.1f} CPU seconds")
        found[name] = {
            "title": setting.title,
            "texts": stages.profile.texts,
            "seconds": {way: round(statistics.median(t), 1) for way, t in times.items()},
            "share_of_training": {way: round(statistics.median(t), 3) for way, t in parts.items()},
            "alloy_against": {way: ratio(times, "Alloy", way) for way in ways if way != "Alloy"},
        }
    return {"rounds": ROUNDS, "settings": found}


def _training(stages: Stages, spec: dict[str, Any]) -> float:
    """One whole run; the share of its time that the student's training takes."""
    folder = stages.folder / "cost"
    shutil.rmtree(folder, ignore_errors=True)
    recipe = stages.recipe("disjoint", spec, folder)
    set_quiet(True)
    begun = time.perf_counter()
    done = run_recipe(recipe.model_copy(update={"evaluate": None}), report=False)
    seconds = time.perf_counter() - begun
    set_quiet(False)
    assert done.training is not None
    share = float(done.training["seconds"]) / seconds
    shutil.rmtree(folder)
    return share


TABLE = Measurement("cost", "what Alloy adds to the time of a run", run, "alloy")
