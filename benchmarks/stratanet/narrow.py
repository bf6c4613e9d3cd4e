"""The first run of Table 3's generated texts, whose generator drew from the eight likeliest tokens only.

Kept for what it shows: those texts hardly differ from each other, and students learn less from them than from random words. They learned
for three epochs in batches of 16, a third of the steps that the other tables have.
"""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.stratanet import table3
from benchmarks.stratanet.methods import GENERATION, NARROW, SIZES

GRID = {"generated": table3.GRID["generated"]}
NARROWLY = {
    "student": {"batch_size": 16},
    "generation": GENERATION | NARROW | {"texts": SIZES["texts"]},
    "passes": {"generated": table3.PASSES["generated"]},
}
TABLE = Table(
    "stratanet", "narrow", "A narrow generator", (split("ag_news", 2), split("abstracts5", 2)), GRID, table3.METHODS,
    analyses=table3.TABLE.analyses, **SIZES | NARROWLY,
)  # fmt: skip
