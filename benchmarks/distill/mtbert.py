"""MT-BERT, Tables 2 and 3 and Figs. 3–5: students of three and two layers from three teachers, co-finetuned or not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from benchmarks.distill.methods import Methods
from benchmarks.distill.paper import MTBERT_PROFILE
from benchmarks.harness.profiles import TASKS
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, one_task
from benchmarks.harness.table import Table

THREE = ("minilm6", "minilm4", "roberta")
WEAKEST = "roberta"
DATA = ("sst2", "rte", "ohsumed")  # OhSumed, 23 topics of unequal size, stands for MIND
WHOLE = ("sst2", "ohsumed")  # RTE is in Table 2 alone: so few of its texts tell little apart
SIZES = ("student3", "student2")


def sized(methods: Methods) -> Methods:
    return {f"{name}-{size}": spec | {"student": size} for name, spec in methods.items() for size in SIZES}


TEACHERS: Methods = {"teachers": {"name": "teachers"}}
BASELINES = sized(
    {
        "supervised": {"name": "supervised"},
        "distilbert": {"name": "distilbert"},
        "pkd": {"name": "pkd"},
        "tinybert": {"name": "tinybert"},
    }
)
MT_BERT = sized({"mt_bert": {"name": "mt_bert"}})
ENSEMBLES: Methods = {  # Fig. 3
    "dissimilarity": {"name": "dissimilarity_ensemble"},
    "adaptive": {"name": "adaptive_ensemble"},
}
WITHOUT: Methods = {  # Figs. 4 and 5; "without co-finetuning" is mt_bert in the setting of separate teachers
    "mt_bert-unweighted": {"name": "mt_bert", "weighted": False},
    "mt_bert-no-hidden": {"name": "mt_bert", "hidden": False},
    "mt_bert-no-distillation": {"name": "mt_bert", "distillation": False},
    "mt_bert-no-task": {"name": "mt_bert", "task": False},
    "mt_bert-pooled-head": {"name": "mt_bert", "student": "pooled3"},
}
# Is it the pooled head, or the teachers?
CONTROL: Methods = {"supervised-pooled-head": {"name": "supervised", "student": "pooled3"}}
METHODS: Methods = TEACHERS | BASELINES | MT_BERT | ENSEMBLES | WITHOUT | CONTROL


def settings(name: str) -> dict[str, tuple[Setting, tuple[str, ...]]]:
    """Of one data set, the settings and the methods that run in each."""
    title, found = SETS[name].title, {}

    def add(some: tuple[str, ...], methods: Sequence[str], **more: Any) -> None:
        setting = one_task(name, some, student="student3", **more)
        found[setting.name] = (setting, (*TEACHERS, *methods))

    whole = name in WHOLE
    alone, parts = ((*ENSEMBLES, "mt_bert-student3", *CONTROL), WITHOUT) if whole else ((), ())
    add(THREE, (*BASELINES, *alone), name=f"{name}-apart", title=f"{title}, teachers fine-tuned apart")
    add(THREE, (*MT_BERT, *parts), name=f"{name}-together", title=f"{title}, teachers co-finetuned", together=True)
    for n in (1, 2) if whole else ():  # Table 3; and, with the weakest teacher, what its states do
        for some in combinations(THREE, n):
            methods = ("mt_bert-student3", *(("mt_bert-no-hidden",) if WEAKEST in some else ()))
            add(some, methods, name="-".join((name, *some)), title=f"{title}: {', '.join(some)}", together=n > 1)
    return found


ALL = {key: value for name in DATA for key, value in settings(name).items()}
TABLE = Table(
    "distill", "mtbert", "MT-BERT, Tables 2–3 and Figs. 3–5", tuple(s for s, _ in ALL.values()), {"shared": tuple(METHODS)}, METHODS,
    passes=0, only={key: methods for key, (_, methods) in ALL.items()}, seeds=dict.fromkeys(ALL, (0, 1, 2)),
    profile=TASKS, stated={"profile": MTBERT_PROFILE},
)  # fmt: skip
