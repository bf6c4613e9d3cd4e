"""Fig. 6: the temperature τ of MUKA-Soft."""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.muka.methods import MUKA, Methods
from benchmarks.muka.paper import stated

TAUS = (0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # Appendix B
METHODS: Methods = {f"muka-soft-{tau}": MUKA["muka-soft"] | {"temperature": tau} for tau in TAUS}
SETTINGS = (split("ag_news", 2), split("thucnews_titles", 2, "chinese"))
TABLE = Table(
    "muka", "fig6", "Fig. 6: τ of MUKA-Soft", SETTINGS, {"shared": tuple(METHODS)}, METHODS,
    texts=1000, test=500,
    stated=stated(METHODS),
)  # fmt: skip
