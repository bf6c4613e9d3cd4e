"""How large a table is run: `small` finishes on two cores, `paper` needs a GPU and the hub."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from alloykit.precision import Precision

TRAINED = "trained:"  # encoders made by `python -m benchmarks encoders NAME`


@dataclass(frozen=True)
class Profile:
    """Sizes and settings that every cell of a table shares."""

    name: str
    texts: int | None  # per part of the training file (teachers' texts, pool); None: all there are
    test: int | None  # texts of the test file; None: all
    encoders: dict[str, dict[str, Any]]  # by role; a `learning_rate` there goes before the teachers' and the students'
    max_length: int
    teacher: dict[str, Any]
    student: dict[str, Any]
    seeds: tuple[int, ...]  # each seed draws the texts, trains the teachers and trains the students anew
    validation: int | None = None  # labelled texts to select by; None: 5 % of `texts`
    precision: Precision = "float32"  # of teachers and students, in training and in the sweep

    def described(self, roles: Iterable[str]) -> dict[str, Any]:
        """With the encoders of some roles."""
        return asdict(self) | {"encoders": {role: self.encoders[role] for role in sorted(roles)}}

    def encoder(self, role: str, work: Path) -> dict[str, Any]:
        """A role's `model:` block."""
        block = {key: value for key, value in self.encoders[role].items() if key != "learning_rate"}
        if not block["model"].startswith(TRAINED):
            return block
        name = block["model"].removeprefix(TRAINED)
        folder = work / "encoders" / name
        if not (folder / "config.json").exists():
            raise SystemExit(
                f"The encoder '{name}' is not there yet. Train it first: python -m benchmarks encoders {name}"
            )
        return block | {"model": str(folder)}

    def rate(self, role: str) -> dict[str, float]:
        """What a role's training has instead of the profile's."""
        return {key: value for key, value in self.encoders[role].items() if key == "learning_rate"}


SMALL = Profile(
    name="small",  # 1,500 texts and 32 tokens, so that a data set with three seeds takes under an hour on two cores
    texts=1500,
    test=1000,
    encoders={
        "english": {"model": "bundled:minilm", "layers": 3, "keep": "even"},
        "english-small": {"model": "bundled:minilm", "layers": 2, "keep": "even"},
        "english-large": {"model": "bundled:minilm"},
        "english-bpe": {"model": "trained:bpe", "learning_rate": 1e-3},
        "chinese": {"model": "trained:chinese", "learning_rate": 1e-3},
        "chinese-other": {"model": "trained:chinese", "layers": 2, "learning_rate": 1e-3},
        "multilingual": {"model": "trained:multilingual", "learning_rate": 1e-3},
    },
    max_length=32,
    teacher={"epochs": 3, "learning_rate": 2e-4, "batch_size": 32, "select": "last", "held_out": 0.0},
    student={"epochs": 3, "learning_rate": 2e-4, "batch_size": 32, "tolerance": 1.0},  # the results are of that rule
    seeds=(0, 1, 2),
)
PAPER = Profile(  # MUKA §4.1, §4.4
    name="paper",
    texts=None,
    test=None,
    encoders={
        "english": {"model": "google-bert/bert-base-uncased"},
        "english-small": {"model": "google-bert/bert-base-uncased", "layers": 4},
        "english-large": {"model": "google-bert/bert-large-uncased"},
        "english-bpe": {"model": "FacebookAI/roberta-base"},
        "chinese": {"model": "hfl/chinese-bert-wwm-ext"},
        "chinese-other": {"model": "hfl/chinese-roberta-wwm-ext-large"},
        "multilingual": {"model": "google-bert/bert-base-multilingual-cased"},
    },
    max_length=128,
    teacher={"epochs": 3, "learning_rate": 2e-5, "batch_size": 64, "select": "last", "held_out": 0.0},
    student={"epochs": 3, "learning_rate": 2e-5, "batch_size": 32, "check_every": 100, "tolerance": 1.0},
    seeds=(0, 1, 2),
)
TASKS = Profile(  # several teachers of one task, with labels
    name="tasks",  # 500 texts and 48 tokens: the tables have hundreds of students. Rates, and which layers, by other texts of SST-2
    texts=500,
    test=500,
    encoders={
        "minilm6": {"model": "bundled:minilm"},
        "minilm4": {"model": "bundled:minilm", "layers": 4, "keep": "even"},
        "minilm3": {"model": "bundled:minilm", "layers": 3, "keep": "even"},
        "roberta": {"model": "trained:bpe"},
        "student3": {"model": "bundled:minilm", "layers": 3, "keep": "even"},
        "pooled3": {"model": "bundled:minilm", "layers": 3, "keep": "even", "head": "pooled"},
        "student2": {"model": "bundled:minilm", "layers": 2, "keep": "even"},
    },
    max_length=48,
    teacher={"epochs": 3, "learning_rate": 3e-4, "batch_size": 32, "select": "last", "held_out": 0.0},
    student={"epochs": 3, "learning_rate": 3e-4, "batch_size": 32, "select": "labelled", "check_every": 16},
    seeds=(0, 1, 2, 3, 4),
    validation=200,
)
PROFILES = {p.name: p for p in (SMALL, PAPER, TASKS)}
