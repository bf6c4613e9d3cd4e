"""StrataNet, Table 5 and Fig. 3C: teachers of other architectures, smaller students, and more than two teachers.

Two equal teachers of AG News are Table 3's; only their smaller students are here. AS-DFD needs embeddings of one width; its smaller
student, which takes as long, is of equal teachers only. Two seeds: texts have to be written for the teachers of five settings.
"""

from __future__ import annotations

from benchmarks.harness.sets import AG_NEWS
from benchmarks.harness.settings import Setting, TeacherPlan, split
from benchmarks.harness.table import Table
from benchmarks.stratanet.methods import BASELINES, SIZES, STRATANET, VARIANTS, Methods
from benchmarks.stratanet.owners import owners
from benchmarks.stratanet.paper import stated

SMALL = {"student": "english-small"}
METHODS: Methods = {
    "teachers": {"name": "teachers"},
    **STRATANET,
    "vanilla_kd": BASELINES["vanilla_kd"],
    "muka-soft": {"name": "muka", "mode": "soft", "passes": 0},
    "as_dfd": BASELINES["as_dfd"],
    "stratanet-msp": VARIANTS["stratanet-msp"],  # who finds a text's owner, also with a teacher twice as wide
    "stratanet-small": STRATANET["stratanet"] | SMALL,
    "as_dfd-small": BASELINES["as_dfd"] | SMALL,
    "owners": {"name": "owners"},
}
FOUND = ("teachers", "stratanet", "stratanet-msp", "vanilla_kd")
MIXED = ("english", "english-bpe", "english-large", "english-bpe")
OVERLAPPING = (("World", "Sports"), ("Sports", "Business"), ("Business", "Sci/Tech"))
CHOSEN = {  # setting → its methods
    split("ag_news", 2, title="AG News: two MiniLM-3"): ("teachers", "stratanet-small", "as_dfd-small"),
    split(
        "ag_news", 2, ("english", "english-large"), name="deeper", title="AG News: MiniLM-3, MiniLM-6"
    ): (*FOUND, "as_dfd", "stratanet-small", "owners"),
    split(
        "ag_news", 2, ("english", "english-bpe"), name="different", title="AG News: MiniLM-3, RoBERTa with BPE, half as wide",
    ): (*FOUND, "stratanet-small", "owners"),
    Setting(
        "overlapping",
        "AG News: three teachers of overlapping labels",
        tuple(TeacherPlan(AG_NEWS.name, labels, e) for labels, e in zip(OVERLAPPING, MIXED, strict=False)),
    ): (*FOUND, "muka-soft"),
    split("ohsumed", 3, MIXED[:3], name="ohsumed-3", title="OhSumed: three teachers"): (*FOUND, "muka-soft"),
    split("ohsumed", 4, MIXED, name="ohsumed-4", title="OhSumed: four teachers"): (*FOUND, "muka-soft"),
}  # fmt: skip
ASKED = tuple(s for s, methods in CHOSEN.items() if "owners" in methods)
PAPER = {  # accuracy, Table 5: students of six and four layers; heterogeneous are BERT and RoBERTa
    "teacher1": {"ag_news": (49.8,), "different": (48.9,)},
    "teacher2": {"ag_news": (48.86,), "different": (50.6,)},
    "ensemble": {"ag_news": (60.25,), "different": (60.54,)},
    "as_dfd": {"ag_news": (75.16,), "different": (63.89,)},
    "stratanet": {"ag_news": (89.16,), "different": (88.53,)},
    "as_dfd-small": {"ag_news": (72.80,), "different": (61.72,)},
    "stratanet-small": {"ag_news": (88.29,), "different": (86.65,)},
}
TABLE = Table(
    "stratanet", "table5", "Table 5 and Fig. 3C", tuple(CHOSEN),
    {"generated": tuple(METHODS), "shared": ("owners",)}, METHODS, limited={"shared": [s.name for s in ASKED]},
    only={setting.name: methods for setting, methods in CHOSEN.items()}, seeds={s.name: (0, 1) for s in CHOSEN},
    analyses={"owners": owners}, stated=stated(METHODS), **SIZES,
)  # fmt: skip
