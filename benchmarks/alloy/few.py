"""Few labels: 1 to 20 labelled texts for every label, beside plain fine-tuning on the same texts. In float32."""

from dataclasses import replace

from benchmarks.alloy.methods import ALLOY, TEACHERS, Methods
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import settings
from benchmarks.harness.table import Table

COUNTS = (1, 5, 20)
NAMES = ("abstracts5", "banking77-3", "google_snippets", "stackoverflow20-4")
METHODS: Methods = (
    TEACHERS
    | {"alloy": ALLOY}
    | {f"alloy, {n}": ALLOY | {"few": n} for n in COUNTS}
    | {f"fine-tuning, {n}": {"name": "supervised", "few": n} for n in COUNTS}
)
TABLE = Table(
    "alloy",
    "few",
    "Few labels",
    tuple(setting for setting in settings() if setting.name in NAMES),
    {"disjoint": tuple(METHODS)},
    METHODS,
    passes=0,
    seed_by_seed=True,
    profile=replace(PROFILE, seeds=(0, 1, 2)),
)
