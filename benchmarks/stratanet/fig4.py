"""StrataNet, Fig. 4: λ, the weight of the intermediate layers. Two seeds of Table 3's three."""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.stratanet.methods import SIZES, SWEEP
from benchmarks.stratanet.paper import stated

SETTINGS = (split("ag_news", 2), split("abstracts5", 2))
TABLE = Table(
    "stratanet", "fig4", "Fig. 4: λ", SETTINGS, {"generated": tuple(SWEEP)}, SWEEP, seeds={s.name: (0, 1) for s in SETTINGS},
    stated=stated(SWEEP, passes=0), **SIZES
)  # fmt: skip
