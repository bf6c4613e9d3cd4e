"""Methods, settings and pools of both tables. Chosen on AG News and 5Abstracts; the other sets are run once, with what was chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.harness.data import SKEWED, UNSEEN_FOREIGN
from benchmarks.harness.settings import Setting, split

Methods = dict[str, dict[str, Any]]

K = 8  # MUKA's passes here: half as many as elsewhere, since every pool has its own
TAUGHT = ("disjoint", "shared", "skew5-first", "foreign50")  # pools that students learn from; of others one plain pass
PASSES = {pool: K if pool in TAUGHT else 0 for pool in ("shared", "disjoint", *SKEWED, *UNSEEN_FOREIGN)}
SIZES: dict[str, Any] = {"texts": 1000, "test": 500, "passes": PASSES}  # both tables share teachers and knowledge
STARTS = ("entropy", "percentile", "mixture", "density")
TEACHERS: Methods = {"teachers": {"name": "teachers"}}
ROUTING: Methods = {
    "muka-dropout": {"name": "routing", "of": {"name": "muka", "passes": K}},
    **{f"muka-{c}": {"name": "routing", "of": {"name": "muka", "confidence": c, "passes": 0}} for c in STARTS},
    **{f"alloy-{c}": {"name": "routing", "of": {"name": "alloy", "confidence": c}} for c in STARTS},
}
STUDENTS: Methods = {
    "muka-soft": {"name": "muka", "mode": "soft", "passes": K},
    "alloy": {"name": "alloy"},
    "oracle": {"name": "oracle"},
    "muka-hard": {"name": "muka", "mode": "hard", "passes": K},
    "uhc": {"name": "uhc"},
    "vanilla_kd": {"name": "vanilla_kd"},
    "pseudo-ensemble": {"name": "pseudo_label"},
    "pseudo-alloy": {"name": "pseudo_label", "of": {"name": "alloy"}},
    "supervised": {"name": "supervised"},
}
TITLES = {
    "muka-dropout": f"MUKA's confidence (K = {K})",
    "muka-entropy": "– of one plain pass",
    "muka-percentile": "– its percentile over the pool",
    "muka-mixture": "– a mixture of two Gaussians",
    "muka-density": "density of early states",
    "alloy-entropy": "Alloy",
    "alloy-percentile": "– started from percentiles",
    "alloy-mixture": "– started from mixtures",
    "alloy-density": "– started from densities",
    "gate": "supervised gate",
    "muka-soft": "MUKA-Soft",
    "alloy": "Alloy",
    "oracle": "Perfect routing",
    "muka-hard": "MUKA-Hard",
    "uhc": "UHC",
    "vanilla_kd": "Vanilla KD",
    "pseudo-ensemble": "Pseudo-labels of the ensemble",
    "pseudo-alloy": "Pseudo-labels of Alloy",
    "supervised": "Supervised",
}
POOLS = tuple(PASSES)
TUNED = ("ag_news", "abstracts5")


def settings() -> tuple[Setting, ...]:
    """Well-trained teachers; and barely trained ones, as NAME-barely."""
    well = (
        split("ag_news", 2),
        split("abstracts5", 2),
        split("google_snippets", 2),
        split("ohsumed", 2),
        split("ohsumed", 4, name="ohsumed4", title="OhSumed, 4 teachers"),
        split("thucnews_titles", 2, "chinese"),
        split("thucnews_titles", 5, "chinese", name="thucnews5", title="THUCNews titles, 5 teachers"),
    )
    again = [s for s in well if s.name in (*TUNED, "google_snippets", "thucnews5")]
    barely = (replace(s, name=f"{s.name}-barely", title=f"{s.title}, barely trained", barely=True) for s in again)
    return (*well, *barely)
