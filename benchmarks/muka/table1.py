"""Table 1: two teachers of disjoint labels, one student over the union; and two pools that the paper never tests."""

from __future__ import annotations

from benchmarks.harness.table import Table

METHODS = {
    "teachers": {"name": "teachers"},  # each teacher alone, and their ensemble
    "routing-hard": {"name": "routing", "of": {"name": "muka", "mode": "hard"}},
    "routing-soft": {"name": "routing", "of": {"name": "muka", "mode": "soft"}},
    "vanilla_kd": {"name": "vanilla_kd"},
    "uhc": {"name": "uhc"},
    "muka-soft": {"name": "muka", "mode": "soft"},
    "muka-hard": {"name": "muka", "mode": "hard"},
    "pseudo-ensemble": {"name": "pseudo_label"},
    "pseudo-muka": {"name": "pseudo_label", "of": {"name": "muka", "mode": "soft"}},
    "supervised": {"name": "supervised"},
}
# The added pools get what an engineer without labels would choose from; three seeds of all ten methods would take hours more.
CHOICE = ("teachers", "routing-hard", "routing-soft", "vanilla_kd", "uhc", "muka-soft", "muka-hard", "pseudo-ensemble")
GRID = {"shared": tuple(METHODS), "disjoint": CHOICE, "foreign": CHOICE}
PAPER = {  # accuracy and standard deviation over three seeds, Table 1
    "supervised": {"ag_news": (94.6, 0.0), "google_snippets": (89.3, 0.0), "abstracts5": (90.7, 0.0)},
    "teacher1": {"ag_news": (49.9, 0.0), "google_snippets": (50.2, 0.0), "abstracts5": (42.0, 0.0)},
    "teacher2": {"ag_news": (47.5, 0.0), "google_snippets": (43.5, 0.0), "abstracts5": (51.5, 0.0)},
    "ensemble": {"ag_news": (59.8, 0.0), "google_snippets": (80.4, 0.0), "abstracts5": (62.3, 0.0)},
    "vanilla_kd": {"ag_news": (63.1, 0.81), "google_snippets": (83.7, 1.30), "abstracts5": (67.0, 1.14)},
    "uhc": {"ag_news": (78.8, 1.42), "google_snippets": (86.3, 0.39), "abstracts5": (71.4, 0.67)},
    "muka-hard": {"ag_news": (87.0, 0.40), "google_snippets": (88.4, 0.32), "abstracts5": (79.0, 0.82)},
    "muka-soft": {"ag_news": (87.1, 0.19), "google_snippets": (87.9, 0.32), "abstracts5": (79.3, 0.85)},
}
TABLE = Table("muka", "table1", "Table 1", ("ag_news", "abstracts5", "google_snippets"), GRID, METHODS)
