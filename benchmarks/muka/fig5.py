"""Fig. 5: the labels of wrongly routed texts, and the confusion of a model trained with all labels."""

from __future__ import annotations

from benchmarks.harness.table import Table
from benchmarks.muka.analyses import ANALYSES
from benchmarks.muka.fig6 import SETTINGS
from benchmarks.muka.paper import stated

TABLE = Table(
    "muka", "fig5", "Fig. 5: errors of routing", SETTINGS, {"shared": ("errors",)},
    {"errors": {"name": "errors"}}, analyses=ANALYSES, texts=1000, test=500,
    stated=stated({"errors": {"name": "errors"}}),
)  # fmt: skip
