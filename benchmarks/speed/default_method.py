"""The default method, which needs no passes, and MUKA with 16 passes, against MUKA written by hand: all in one run, of one thread, in CPU seconds.

Small, so that it takes some minutes: few texts, and more epochs than in `amalgamation`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from alloykit.progress import log_line, set_quiet
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.serving.predictor import Predictor
from alloykit.stages.amalgamation import run_recipe
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec
from benchmarks.harness.data import read
from benchmarks.harness.sets import AG_NEWS
from benchmarks.speed import by_hand
from benchmarks.speed.amalgamation import ENCODER, GROUPS, LENGTH, SPACE, accuracy, teacher
from benchmarks.speed.measure import Measurement

TEXTS, EPOCHS, SEED = 480, 9, 0
RATE = 3e-4  # of so few steps, so that the students learn something


def run(data: Path, work: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    folder = work / "amalgamation"
    teachers = [teacher(data, folder / f"teacher{i}", labels) for i, labels in enumerate(GROUPS)]
    texts = list(read(data / AG_NEWS.name / "train.parquet")[:TEXTS]["text"])
    by_hand.EPOCHS, by_hand.RATE = EPOCHS, RATE
    found: dict[str, dict[str, float]] = {}
    for name, do in {
        "alloykit, default method": lambda: _ours(data, folder, teachers, {"name": "alloy"}),
        "alloykit, MUKA, K = 16": lambda: _ours(data, folder, teachers, {"name": "muka", "passes": by_hand.PASSES}),
        "MUKA by hand, padded to 128": lambda: _by_hand(teachers, texts),
    }.items():
        found[name] = _measured(data, do)
        log_line(f"{name}: {found[name]}")
    hand = found["MUKA by hand, padded to 128"]["cpu_seconds"]
    return {
        "settings": {
            "texts": TEXTS,
            "epochs": EPOCHS,
            "rate": RATE,
            "length": LENGTH,
            "encoder": ENCODER,
            "passes": by_hand.PASSES,
        },
        "ways": found,
        "ratios": {name: round(hand / one["cpu_seconds"], 2) for name, one in found.items()},
    }


def _measured(data: Path, do: Callable[[], Predictor]) -> dict[str, float]:
    set_quiet(True)
    begun, cpu = time.perf_counter(), time.process_time()
    classifier = do()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    set_quiet(False)
    return {"cpu_seconds": round(cpu, 1), "seconds": round(seconds, 1), "accuracy": accuracy(data, classifier)}


def _by_hand(teachers: list[Path], texts: list[str]) -> Predictor:
    student, tokenizer = build_student(StudentSpec.model_validate(ENCODER), SPACE, SEED)
    by_hand.amalgamate(teachers, texts, student, tokenizer, pad_to=LENGTH, longest=LENGTH, seed=SEED)
    return Predictor(student, tokenizer, LENGTH)


def _ours(data: Path, folder: Path, teachers: list[Path], method: dict[str, Any]) -> Predictor:
    """From nothing to the written report, and the student loaded again."""
    values = {
        "teachers": [str(t) for t in teachers],
        "texts": {"path": str(data / AG_NEWS.name / "train.parquet"), "limit": TEXTS},
        "student": ENCODER,
        "method": method,
        "training": {
            "epochs": EPOCHS,
            "learning_rate": by_hand.RATE,
            "batch_size": by_hand.BATCH,
            "select": "last",
            "held_out": 0.0,
            "seed": SEED,
        },
        "inference": {"seed": SEED},
        "output": str(folder / f"run-{method['name']}"),
    }
    recipe = parse(values, Recipe)
    shutil.rmtree(recipe.output, ignore_errors=True)
    return Predictor.load(run_recipe(recipe).student, LENGTH)


TABLE = Measurement("default_method", "the default method and MUKA against MUKA written by hand, in CPU seconds", run)
