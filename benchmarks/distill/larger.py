"""RL-KD, MT-BERT and simple strategies with 3,000 texts in place of 500, and without a weak teacher."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.distill.methods import RL, STRATEGIES, Methods
from benchmarks.harness.profiles import TASKS
from benchmarks.harness.settings import one_task
from benchmarks.harness.table import Table

THREE = ("minilm6", "minilm4", "minilm3")
DATA = ("sst2", "qnli_10k", "mnli_10k", "mrpc")
SMALL_STUDENT: Methods = {
    "supervised": {"name": "supervised"},
    "u_ensemble": STRATEGIES["u_ensemble"],
    "best_single": STRATEGIES["best_single"],
    "mt_bert": {"name": "mt_bert"},
    "rl_kd-reward3": RL["rl_kd-reward3"],
    "rl_kd-improvement": RL["rl_kd-improvement"],
}
DEEP = "minilm6"  # a student as deep as the best teacher
OWN_RATE: dict[str, Any] = {"learning_rate": None}  # None: alloykit's default, in place of the profile's
BY_NAME: Methods = SMALL_STUDENT | {
    "supervised-own_rate": {"name": "supervised", "training": OWN_RATE},
    "supervised-own_rate_and_epochs": {"name": "supervised", "training": OWN_RATE | {"epochs": None}},
}
DEEP_STUDENT: Methods = {
    f"{name}-six": BY_NAME[name] | {"student": DEEP}
    for name in (
        "supervised",
        "supervised-own_rate",
        "supervised-own_rate_and_epochs",
        "u_ensemble",
        "mt_bert",
    )
}
METHODS: Methods = {
    "teachers": {"name": "teachers"},
    "routing-u_ensemble": {"name": "routing", "of": STRATEGIES["u_ensemble"]},
    **SMALL_STUDENT,
    **DEEP_STUDENT,
}
TABLE = Table(
    "distill",
    "larger",
    "With 3,000 texts",
    tuple(one_task(name, THREE, student="student2") for name in DATA),
    {"shared": tuple(METHODS)},
    METHODS,
    passes=0,
    seed_by_seed=True,
    profile=replace(
        TASKS,
        name="tasks-3000",
        texts=3000,
        test=1000,
        validation=400,
        student=TASKS.student | {"check_every": 47},  # twice an epoch
    ),
)
