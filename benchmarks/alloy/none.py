"""None of these: how well a student tells texts that no teacher knows from its test texts, without labels. In float32."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.alloy.held_out import held_out
from benchmarks.alloy.methods import Methods
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.unusual import unusual
from benchmarks.harness.table import Table

SETS = {"ag_news": 2, "abstracts5": 2, "banking77": 3, "google_snippets": 2, "stackoverflow20": 4}  # set: teachers
METHODS: Methods = {"alloy": {"name": "unusual"}}
TABLE = Table(
    "alloy",
    "none",
    "None of these",
    tuple(held_out(name, teachers, "english-trimmed") for name, teachers in SETS.items()),
    {pool: tuple(METHODS) for pool in ("disjoint", "foreign10")},
    METHODS,
    passes=0,
    analyses={"unusual": unusual},
    seed_by_seed=True,
    profile=replace(PROFILE, seeds=(0, 1, 2)),
)
