"""How large an experiment is. `small` fits two cores; `paper` is what the papers did, and wants a GPU and the hub."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from alloykit.precision import Precision


@dataclass(frozen=True)
class Profile:
    """Sizes and settings that every cell of a table shares."""

    name: str
    texts: int | None  # per part of the training file (teachers' texts, pool); None: all there are
    test: int | None  # texts of the test file; None: all
    encoder: dict[str, Any]  # of teachers and students alike
    max_length: int
    teacher: dict[str, Any]
    student: dict[str, Any]
    seeds: tuple[int, ...]  # each seed draws the texts, trains the teachers and trains the students anew
    precision: Precision = "float32"  # of teachers and students, in training and in the sweep

    def described(self) -> dict[str, Any]:
        return asdict(self)


SMALL = Profile(
    name="small",  # 1,500 texts and 32 tokens, so that a data set with three seeds takes under an hour on two cores
    texts=1500,
    test=1000,
    encoder={"model": "bundled:minilm", "layers": 3, "keep": "even"},
    max_length=32,
    teacher={"epochs": 3, "learning_rate": 2e-4, "batch_size": 32, "select": "last", "held_out": 0.0},
    student={"epochs": 3, "learning_rate": 2e-4, "batch_size": 32},
    seeds=(0, 1, 2),
)
PAPER = Profile(  # MUKA §4.1
    name="paper",
    texts=None,
    test=None,
    encoder={"model": "google-bert/bert-base-uncased"},
    max_length=128,
    teacher={"epochs": 3, "learning_rate": 2e-5, "batch_size": 64, "select": "last", "held_out": 0.0},
    student={"epochs": 3, "learning_rate": 2e-5, "batch_size": 32, "check_every": 100},
    seeds=(0, 1, 2),
)
PROFILES = {p.name: p for p in (SMALL, PAPER)}
