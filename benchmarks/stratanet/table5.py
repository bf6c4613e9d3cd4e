"""StrataNet, Table 5 and Fig. 3C: teachers of other architectures, smaller students, and more than two teachers."""

from __future__ import annotations

from benchmarks.harness.data import AG_NEWS
from benchmarks.harness.settings import Setting, TeacherPlan, split
from benchmarks.harness.table import Table
from benchmarks.stratanet.methods import BASELINES, SIZES, STRATANET, VARIANTS, Methods

SMALL = {"student": "english-small"}
METHODS: Methods = {
    "teachers": {"name": "teachers"},
    **STRATANET,
    "as_dfd": BASELINES["as_dfd"],
    "stratanet-msp": VARIANTS["stratanet-msp"],  # who finds a text's owner, also with a teacher twice as wide
    "stratanet-small": STRATANET["stratanet"] | SMALL,
    "as_dfd-small": BASELINES["as_dfd"] | SMALL,
}
MIXED = ("english", "english-bpe", "english-large", "english-bpe")
OVERLAPPING = (("World", "Sports"), ("Sports", "Business"), ("Business", "Sci/Tech"))
SETTINGS = (
    split("ag_news", 2, title="AG News: two MiniLM-3"),
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
    split("ohsumed", 4, MIXED, name="ohsumed-4", title="OhSumed: four teachers"),
)
TABLE = Table("stratanet", "table5", "Table 5 and Fig. 3C", SETTINGS, {"generated": tuple(METHODS)}, METHODS, **SIZES)
