"""Size and speed of the students of these tables and of their teachers.

One thread, the same texts for all, each model with its own tokenizer; they take turns, so that noise falls on all. Heads are untrained: they do
not change the time.
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from typing import Any

import torch

from alloykit.labels import LabelSpace
from alloykit.progress import set_quiet
from alloykit.serving.predictor import Predictor
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec
from benchmarks.distill.methods import FOUR
from benchmarks.harness.data import read
from benchmarks.harness.profiles import TASKS
from benchmarks.speed.measure import Measurement, in_turns, ratio

STUDENTS = ("student3", "student2")
DATA, TEXTS, ROUNDS = "sst2", 256, 7


def run(data: Path, work: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    texts = list(read(data / DATA / "train.parquet").select(range(TEXTS))["text"])
    space = LabelSpace.union([("negative", "positive")])
    models = {}
    for role in (*FOUR, *STUDENTS):
        model, tokenizer = build_student(StudentSpec(**TASKS.encoder(role, work.parent)), space)
        models[role] = Predictor(model, tokenizer, TASKS.max_length)
    set_quiet(True)
    times = in_turns({role: partial(model.probabilities, texts) for role, model in models.items()}, ROUNDS)
    set_quiet(False)
    times["all four"] = [sum(times[role][n] for role in FOUR) for n in range(ROUNDS)]
    return {
        "data": DATA,
        "texts": TEXTS,
        "rounds": ROUNDS,
        "models": {
            role: {
                "parameters": sum(p.numel() for p in model.model.parameters()),
                "layers": model.model.config.num_hidden_layers,
                "width": model.model.config.hidden_size,
            }
            for role, model in models.items()
        },
        "texts_per_second": {role: TEXTS / statistics.median(seconds) for role, seconds in times.items()},
        "times_a_student": {
            student: {role: ratio(times, role, student) for role in (*FOUR, "all four")} for student in STUDENTS
        },
    }


TABLE = Measurement("size", "students beside their teachers: size and speed", run, "distill")
