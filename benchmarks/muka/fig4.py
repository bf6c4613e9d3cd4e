"""Fig. 4: KL divergence of the supervision from the answers of a model trained with all labels."""

from __future__ import annotations

from benchmarks.harness.table import Table
from benchmarks.muka.analyses import ANALYSES
from benchmarks.muka.fig6 import SETTINGS
from benchmarks.muka.paper import stated

TABLE = Table(
    "muka", "fig4", "Fig. 4: quality of the supervision", SETTINGS, {"shared": ("supervision",)},
    {"supervision": {"name": "supervision"}}, analyses=ANALYSES, texts=1000, test=500,
    stated=stated({"supervision": {"name": "supervision"}}),
)  # fmt: skip
