"""(c) How the time of a whole amalgamation grows with texts and with teachers: the slope in log–log."""

from __future__ import annotations

import itertools
import math
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.progress import set_quiet
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.stages.amalgamation import run_recipe
from alloykit.teachers.hugging_face import HuggingFaceSpec
from benchmarks.harness.sets import AG_NEWS
from benchmarks.speed.measure import Measurement
from benchmarks.speed.teachers import untrained

TEXTS = (500, 1000, 2000, 4000)
TEACHERS = (1, 2, 4, 8)
FEW_TEXTS = 500
ROUNDS = 2


def run(data: Path, work: Path) -> dict[str, Any]:
    grid = [(n, 2) for n in TEXTS] + [(FEW_TEXTS, k) for k in TEACHERS if k != 2]
    seconds: dict[tuple[int, int], float] = {}
    set_quiet(True)
    try:
        for _, (texts, teachers) in itertools.product(range(ROUNDS), grid):
            taken = _once(data, work / "growth", texts, teachers)
            seconds[texts, teachers] = min(taken, seconds.get((texts, teachers), math.inf))
    finally:
        set_quiet(False)
    by_texts = {n: round(seconds[n, 2], 2) for n in TEXTS}
    by_teachers = {k: round(seconds[FEW_TEXTS, k], 2) for k in TEACHERS}
    return {
        "by_texts": by_texts,
        "by_teachers": by_teachers,
        "slope_texts": _slope(by_texts),
        "slope_teachers": _slope(by_teachers),
        "rounds": ROUNDS,
    }


def _once(data: Path, folder: Path, texts: int, teachers: int) -> float:
    """Seconds of sweep and training; loading of models and everything afterwards included."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    folders = [untrained(folder / f"teacher{k}", [f"{k}-a", f"{k}-b"], k, layers=1) for k in range(teachers)]
    recipe = {
        "teachers": [HuggingFaceSpec(model=str(f)).model_dump() for f in folders],
        "texts": {"path": str(data / AG_NEWS.name / "train.parquet"), "limit": texts},
        "student": {"model": "bundled:minilm", "layers": 1},
        "method": {"name": "muka", "passes": 8},
        "training": {"epochs": 1, "learning_rate": 2e-5, "max_length": 64},
        "output": str(folder / "run"),
    }
    parsed, begun = parse(recipe, Recipe), time.perf_counter()
    run_recipe(parsed)
    return time.perf_counter() - begun


def _slope(by_size: dict[int, float]) -> float:
    x, y = np.log(list(by_size)), np.log(list(by_size.values()))
    return round(float(np.polyfit(x, y, 1)[0]), 3)


TABLE = Measurement("growth", "time against number of texts and of teachers", run)
