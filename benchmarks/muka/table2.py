"""Table 2: MUKA without Monte-Carlo dropout, in both readings of the paper, and without instance re-weighting."""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.muka.methods import MUKA, TEACHERS, Methods
from benchmarks.muka.paper import stated

WITHOUT = {"one-pass": {"passes": 1}, "no-dropout": {"passes": 0}, "unweighted": {"reweight": False}}
METHODS: Methods = TEACHERS | {
    key: value
    for name, spec in MUKA.items()
    for key, value in {name: spec, **{f"{name}-{part}": spec | less for part, less in WITHOUT.items()}}.items()
}
PAPER = {
    "muka-hard": {"ag_news": (87.0, 0.40), "thucnews_titles": (97.2, 0.12)},
    "muka-hard-one-pass": {"ag_news": (65.1, 1.67), "thucnews_titles": (97.0, 0.13)},
    "muka-hard-unweighted": {"ag_news": (85.5, 0.51), "thucnews_titles": (96.9, 0.06)},
    "muka-soft": {"ag_news": (87.1, 0.19), "thucnews_titles": (97.2, 0.08)},
    "muka-soft-one-pass": {"ag_news": (74.2, 0.28), "thucnews_titles": (95.4, 0.20)},
    "muka-soft-unweighted": {"ag_news": (86.7, 0.30), "thucnews_titles": (96.8, 0.03)},
}
SETTINGS = (split("ag_news", 2), split("thucnews_titles", 2, "chinese"))
TABLE = Table(
    "muka",
    "table2",
    "Table 2: ablations",
    SETTINGS,
    {"shared": tuple(METHODS)},
    METHODS,
    stated=stated(METHODS),
)
