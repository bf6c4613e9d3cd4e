"""A small recipe with two questions, one with two teachers, and test texts with a column for each question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiny
from commandline import write_csv

TOPICS = ("refund", "charge", "invoice", "track", "damaged")
MOODS = ("good", "bad")
TEXTS, TESTED = 90, 20


def questions_recipe(models: dict[str, Path], folder: Path, **changes: Any) -> dict[str, Any]:
    """As a dictionary; its texts are in `folder`. Every third test text has no mood."""
    mood = folder / "mood"
    if not mood.exists():
        tiny.classifier(mood, MOODS, "bert", seed=5)
    write_csv(folder / "texts.csv", [[text] for text in tiny.texts(TEXTS)])
    tested = enumerate(tiny.texts(TESTED, seed=9))
    rows = [(text, TOPICS[i % 5], MOODS[i % 2] if i % 3 else "") for i, text in tested]
    write_csv(folder / "test.csv", rows, ("text", "topic", "feeling"))
    return {
        "questions": {
            "mood": {"teachers": [str(mood)], "method": "uhc", "column": "feeling"},
            "topic": {
                "teachers": [str(models["billing"]), str(models["delivery"])],
                "method": {"name": "muka", "passes": 0},
            },
        },
        "texts": str(folder / "texts.csv"),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "training": {
            "epochs": 2,
            "learning_rate": 1e-3,
            "batch_size": 16,
            "max_length": 32,
            "check_every": 4,
            "save_every_seconds": 0,
        },
        "evaluate": {"data": str(folder / "test.csv")},
        "output": str(folder / "run"),
    } | changes
