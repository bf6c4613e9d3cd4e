"""StrataNet, Table 5 and Fig. 3C: teachers of other architectures, smaller students, and more than two teachers."""

from __future__ import annotations

from benchmarks.harness.data import AG_NEWS
from benchmarks.harness.settings import Setting, TeacherPlan, split
from benchmarks.harness.table import Table
from benchmarks.stratanet.methods import BASELINES, GENERATION, STRATANET, VARIANTS, Methods

TEACHERS: Methods = {"teachers": {"name": "teachers"}}
MSP: Methods = {
    "stratanet-msp": VARIANTS["stratanet-msp"]
}  # beside RMD: who finds a text's owner, and with a teacher twice as wide
METHODS: Methods = (
    TEACHERS
    | MSP
    | {
        f"{name}{suffix}": spec | student
        for name, spec in (STRATANET | {"as_dfd": BASELINES["as_dfd"], "vanilla_kd": BASELINES["vanilla_kd"]}).items()
        for suffix, student in (("", {}), ("-small", {"student": "english-small"}))
    }
)
MIXED = ("english", "english-bpe", "english-large", "english-bpe")
OVERLAPPING = (("World", "Sports"), ("Sports", "Business"), ("Business", "Sci/Tech"))
SETTINGS = (
    split("ag_news", 2, name="alike", title="AG News: two MiniLM-3"),
    split(
        "ag_news",
        2,
        ("english", "english-bpe"),
        name="different",
        title="AG News: MiniLM-3, RoBERTa with BPE, half as wide",
    ),
    Setting(
        "overlapping",
        "AG News: three teachers of overlapping labels",
        tuple(TeacherPlan(AG_NEWS.name, labels, e) for labels, e in zip(OVERLAPPING, MIXED, strict=False)),
    ),
    split("ohsumed", 3, MIXED[:3], name="ohsumed-3", title="OhSumed: three teachers"),
    split("ohsumed", 4, MIXED, name="ohsumed-4", title="OhSumed: four teachers"),
)
TABLE = Table(
    "stratanet",
    "table5",
    "Table 5 and Fig. 3C",
    SETTINGS,
    {"generated": tuple(METHODS)},
    METHODS,
    generation=GENERATION,
)
