"""The students of 3,000 texts again: every model has alloykit's default rate for its size, and MPNet-base is a teacher. Further students learn without
labels, from texts that no teacher has read. Some of both train longer: do they come closer to their teachers then?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.distill import larger
from benchmarks.distill.methods import STRATEGIES, Methods
from benchmarks.harness.data import MANY
from benchmarks.harness.profiles import FETCHED
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import one_task
from benchmarks.harness.table import Table

BASE = ("mpnet", "minilm6", "minilm4")
TWO_LAYERS: Methods = {name: how for name, how in larger.SMALL_STUDENT.items() if name != "rl_kd-reward3"}
SIX_LAYERS: Methods = {
    f"{name}-six": TWO_LAYERS[name] | {"student": larger.DEEP}
    for name in ("supervised", "u_ensemble", "best_single", "mt_bert")
}
ON_LABELS: Methods = {
    "teachers": {"name": "teachers"},
    "routing-u_ensemble": {"name": "routing", "of": STRATEGIES["u_ensemble"]},
    **TWO_LAYERS,
    **SIX_LAYERS,
}
ON_OTHERS: Methods = {  # without labels
    "vanilla_kd": {"name": "vanilla_kd"},
    "vanilla_kd-six": {"name": "vanilla_kd", "student": larger.DEEP},
}
EPOCHS: dict[str, float | None] = {"own_epochs": None, "thirty_epochs": 30}  # None: alloykit's default number


def _longer(name: str, method: dict[str, Any], epochs: str) -> Methods:
    """A student of two layers and one of six."""
    block = method | {"training": {"epochs": EPOCHS[epochs]}}
    return {f"{name}-{epochs}": block, f"{name}-{epochs}-six": block | {"student": larger.DEEP}}


LONGER_ON_LABELS: Methods = {
    **_longer("supervised", TWO_LAYERS["supervised"], "own_epochs"),
    **_longer("u_ensemble", TWO_LAYERS["u_ensemble"], "own_epochs"),
}
LONGER_ON_OTHERS: Methods = {
    **_longer("vanilla_kd", ON_OTHERS["vanilla_kd"], "own_epochs"),
    **_longer("vanilla_kd", ON_OTHERS["vanilla_kd"], "thirty_epochs"),
}
WITH_BASE = tuple(
    one_task(name, BASE, student="student2", name=f"{name}-mpnet", title=f"{SETS[name].title}, with MPNet-base")
    for name in larger.DATA
)
MINILM = tuple(one_task(name, larger.THREE, student="student2") for name in ("mnli_10k", "qnli_10k"))
SMALLER = larger.TABLE.profile
LONGER = "sst2-mpnet"  # the setting in which some students train longer
TABLE = Table(
    "distill",
    "own_rates",
    "With 3,000 texts, a rate for each model, and MPNet-base",
    (*WITH_BASE, *MINILM),
    {
        "shared": (*ON_LABELS, *LONGER_ON_LABELS),
        "disjoint": (*ON_OTHERS, *LONGER_ON_OTHERS),
        MANY: tuple(ON_OTHERS),
    },
    ON_LABELS | ON_OTHERS | LONGER_ON_LABELS | LONGER_ON_OTHERS,
    passes=0,
    limited={  # the other sets have too few texts
        "disjoint": ("sst2-mpnet", "qnli_10k-mpnet", "mnli_10k-mpnet", "mnli_10k", "qnli_10k"),
        MANY: ("sst2-mpnet",),
    },
    only={s.name: (*ON_LABELS, *ON_OTHERS) for s in (*WITH_BASE, *MINILM) if s.name != LONGER},
    seed_by_seed=True,
    profile=replace(
        SMALLER,
        name="tasks-3000-rates",
        encoders=SMALLER.encoders | {"mpnet": {"model": f"{FETCHED}mpnet"}},
        teacher=SMALLER.teacher | {"learning_rate": None},  # None: alloykit's default
        student=SMALLER.student | {"learning_rate": None},
        seeds=(0, 1, 2),
    ),
)
