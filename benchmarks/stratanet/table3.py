"""StrataNet, Table 3: teachers without their data, and students of generated texts, random words and other domains' texts.

Fig. 3A and 3B are among the methods of the pool "generated"; real texts are the upper bound.
"""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.stratanet.methods import BASELINES, SIZES, STRATANET, VARIANTS, K, Methods
from benchmarks.stratanet.owners import owners
from benchmarks.stratanet.paper import PASSES as WHOLE
from benchmarks.stratanet.paper import stated
from benchmarks.stratanet.written import written

METHODS: Methods = {
    "teachers": {"name": "teachers"},
    **STRATANET,
    **BASELINES,
    **VARIANTS,
    "supervised": {"name": "supervised"},
    "owners": {"name": "owners"},
    "written": {"name": "written"},
}
GRID = {
    "generated": (
        "teachers",
        "stratanet",
        "vanilla_kd",
        "muka-soft",
        "muka-hard",
        "as_dfd",
        *VARIANTS,
        "owners",
        "written",
    ),
    "random": ("vanilla_kd",),
    "cross": ("vanilla_kd",),
    "shared": ("stratanet", "vanilla_kd", "muka-soft", "supervised", "owners"),
}
PASSES = {"generated": K, "random": 0, "cross": 0, "shared": K}
PAPER = {  # accuracy, Table 3; the rest of it is lost in the copy at hand
    "supervised": {"ag_news": (94.6,), "abstracts5": (90.7,), "ohsumed": (70.5,)},
    "teacher1": {"ag_news": (45.8,), "abstracts5": (41.75,), "ohsumed": (32.8,)},
    "teacher2": {"ag_news": (46.9,), "abstracts5": (46.88,), "ohsumed": (35.6,)},
    "ensemble": {"ag_news": (55.86,), "abstracts5": (53.67,), "ohsumed": (41.94,)},
}
SETTINGS = (split("ag_news", 2), split("abstracts5", 2), split("ohsumed", 2))
TABLE = Table(
    "stratanet", "table3", "Table 3 and Figs. 3A, 3B", SETTINGS, GRID, METHODS,
    analyses={"owners": owners, "written": written},
    stated=stated(METHODS, passes={pool: WHOLE if few else 0 for pool, few in PASSES.items()}), **SIZES | {"passes": PASSES},
)  # fmt: skip
