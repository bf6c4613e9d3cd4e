"""Fig. 3: how well uncertainty separates teachers that know a text from those that do not, with and without dropout."""

from __future__ import annotations

from benchmarks.harness.table import Table
from benchmarks.muka.analyses import ANALYSES
from benchmarks.muka.fig6 import SETTINGS
from benchmarks.muka.paper import stated

TABLE = Table(
    "muka", "fig3", "Fig. 3: uncertainty of right and wrong teachers", SETTINGS, {"shared": ("uncertainty",)},
    {"uncertainty": {"name": "uncertainty"}}, analyses=ANALYSES, texts=1000, test=500,
    stated=stated({"uncertainty": {"name": "uncertainty"}}),
)  # fmt: skip
