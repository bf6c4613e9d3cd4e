"""The first run of Table 3's generated texts, whose generator drew from the eight most probable tokens only.

Kept for what it shows: those texts hardly differ from each other, and on 5Abstracts students learn less from them than from random words.
They learned for three epochs in batches of 16, a third of the steps that the other tables have.
"""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.stratanet import table3
from benchmarks.stratanet.methods import GENERATION, NARROW, SIZES

GRID = {pool: table3.GRID[pool] for pool in ("generated", "random", "cross")}
NARROWLY = {
    "student": {"batch_size": 16},
    "generation": GENERATION | NARROW | {"texts": SIZES["texts"]},
    "passes": {pool: table3.PASSES[pool] for pool in GRID},
}
TABLE = Table(
    "stratanet", "narrow", "A narrow generator", (split("ag_news", 2), split("abstracts5", 2)), GRID, table3.METHODS,
    analyses=table3.TABLE.analyses, **SIZES | NARROWLY,
)  # fmt: skip
