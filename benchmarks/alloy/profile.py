"""Sizes of both tables: teachers, knowledge and students are cheap enough for two cores."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.profiles import SMALL

PRECISION = "bfloat16"  # of teachers, sweep and students; slow on a CPU that does not multiply in it natively
PROFILE = replace(
    SMALL,
    name="alloy",
    texts=1500,
    test=600,
    encoders={"english-trimmed": SMALL.encoders["english-trimmed"], "chinese": {"model": "trained:chinese"}},
    max_length=24,
    teacher={"epochs": 8, "learning_rate": 2e-4, "batch_size": 32, "select": "last", "held_out": 0.0},
    student={},  # the default learning rate and number of epochs: what a user gets
    precision=PRECISION,
    sets={
        "banking77": {"sizes": {"texts": 2000}, "teacher": {"epochs": 10}},
        "ohsumed": {"teacher": {"epochs": 12}},
        "thucnews_titles": {"sizes": {"max_length": 32}, "teacher": {"learning_rate": 1e-3}},
    },
)
