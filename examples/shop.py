"""What the examples share: customer messages of a shop, and a classifier for each of its teams.

The messages are those of `alloykit demo`. Three teams read them: billing, delivery and account. Each team has labels of its own.
"""

from __future__ import annotations

import random
from pathlib import Path

import alloykit
from alloykit.demo.run import messages, write_csv

DATA = Path(__file__).parent / "data"
RUNS = Path("runs/examples")
TRAINING = {"epochs": 5, "learning_rate": 3e-4, "batch_size": 32, "max_length": 48}


def teacher(team: str) -> Path:
    """The folder of a team's classifier. The first call fine-tunes it, on the team's own labelled messages."""
    own = [{"text": m["text"], "label": m["label"]} for m in messages("train") if m["team"] == team]
    return alloykit.teach(
        {"model": "bundled:minilm", "layers": 3, "keep": "even"},
        random.Random(0).sample(own, len(own)),
        training=TRAINING,
        output=RUNS / "teachers" / team,
    )


def texts_file(*teams: str) -> Path:
    """A file with messages to these teams, in random order and without labels."""
    rows = [{"text": m["text"]} for m in messages("train") if m["team"] in teams]
    path = RUNS / "data" / f"{'-'.join(teams)}.csv"
    write_csv(path, random.Random(0).sample(rows, len(rows)))
    return path


def test_file(*teams: str) -> Path:
    """A file with other messages to these teams, and their true labels."""
    path = RUNS / "data" / f"{'-'.join(teams)}-test.csv"
    write_csv(path, [{"text": m["text"], "label": m["label"]} for m in messages("test") if m["team"] in teams])
    return path


def show_scores(run: alloykit.Run) -> None:
    """Print the accuracy of teachers and student on the test messages."""
    for name, score in run.metrics["evaluation"]["scores"].items():
        if name != "oracle routing":  # it needs the true labels
            low, high = score["interval"]
            print(f"{name:<22} {100 * score['accuracy']:5.1f} %   (95 % interval: {100 * low:.0f} to {100 * high:.0f})")
