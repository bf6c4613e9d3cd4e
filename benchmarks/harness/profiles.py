"""How large a table is run: these profiles finish on two cores. A paper's own settings, for a GPU and the hub, are in its folder (`paper.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from alloykit.precision import Precision
from benchmarks import models

TRAINED = "trained:"  # encoders made by `python -m benchmarks encoders NAME`
FETCHED = "fetched:"  # models that `benchmarks.models` downloads
TRIMMED = "trimmed:minilm"  # bundled:minilm without the word pieces that the texts of a setting and seed do not have (`Stages.encoder`)


@dataclass(frozen=True)
class Profile:
    """Sizes and settings that every cell of a table shares."""

    name: str
    texts: int | None  # per part of the training file (teachers' texts, pool); None: all there are
    test: int | None  # texts of the test file; None: all
    encoders: dict[str, dict[str, Any]]  # by role; a `learning_rate` there replaces that of teachers and students
    max_length: int
    teacher: dict[str, Any]
    student: dict[str, Any]
    seeds: tuple[int, ...]  # each seed draws the texts, trains the teachers and trains the students anew
    validation: int | None = None  # labelled texts to select by; None: 5 % of `texts`, or all where all texts are taken
    precision: Precision = "float32"  # of teachers and students, in training and in the sweep
    students: Mapping[str, dict[str, Any]] = field(
        default_factory=dict
    )  # by role, where a student is not like the teachers of its role
    # By data set, what replaces the profile's settings: `teacher`, `student` (training settings), `generation`, and
    # `sizes`: `texts`, `test` and `max_length`.
    sets: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def described(self, roles: Iterable[str]) -> dict[str, Any]:
        """With the encoders of some roles. What a setting's data sets have of their own is described with the setting."""
        found = asdict(self) | {"encoders": {role: self.encoders[role] for role in sorted(roles)}}
        del found["sets"]
        students = {role: block for role, block in found.pop("students").items() if role in roles}
        return found | ({"students": students} if students else {})

    def of_sets(self, names: Iterable[str], what: str) -> dict[str, Any]:
        """`teacher`, `student`, `generation` or `sizes` settings of some data sets, all in one."""
        return {key: value for name in names for key, value in self.sets.get(name, {}).get(what, {}).items()}

    def of_size(self, names: Iterable[str]) -> Profile:
        """With the sizes of some data sets."""
        return replace(self, **self.of_sets(names, "sizes"))

    def encoder(self, role: str, work: Path, *, student: bool = False) -> dict[str, Any]:
        """A role's `model:` block, or its `student:` block."""
        named = (self.students.get(role) if student else None) or self.encoders[role]
        block = {key: value for key, value in named.items() if key != "learning_rate"}
        if block["model"].startswith(FETCHED):
            folder = work / "models" / block["model"].removeprefix(FETCHED)
            models.fetch(folder.name, folder)
            return block | {"model": str(folder)}
        if not block["model"].startswith(TRAINED):
            return block
        name = block["model"].removeprefix(TRAINED)
        folder = work / "encoders" / name
        if not (folder / "config.json").exists():
            raise SystemExit(
                f"The encoder '{name}' does not exist yet. Train it first: python -m benchmarks encoders {name}"
            )
        return block | {"model": str(folder)}

    def rate(self, role: str) -> dict[str, float]:
        """The learning rate of a role, if it has one of its own."""
        return {key: value for key, value in self.encoders[role].items() if key == "learning_rate"}


# 1,000 texts of 23 labels: with the profiles' 3 epochs of batches of 32 one teacher of two answered one label to everything.
# Chosen by the teachers' answers to training texts that they had not learned from (seed 0), among three
FEW_TEXTS = {"ohsumed": {"teacher": {"epochs": 10, "batch_size": 8}, "student": {"epochs": 5, "batch_size": 8}}}

SMALL = Profile(
    name="small",  # 1,500 texts and 32 tokens, so that a data set with three seeds takes under an hour on two cores
    texts=1500,
    test=1000,
    encoders={
        "english": {"model": "bundled:minilm", "layers": 3, "keep": "even"},
        "english-trimmed": {"model": TRIMMED, "layers": 3, "keep": "even"},
        "english-small": {"model": "bundled:minilm", "layers": 2, "keep": "even"},
        "english-large": {"model": "bundled:minilm"},
        "english-bpe": {"model": "trained:bpe", "learning_rate": 1e-3},
        "mpnet": {"model": f"{FETCHED}mpnet", "learning_rate": 5e-5},  # a usual rate for its size, not tuned
        "chinese": {"model": "trained:chinese", "learning_rate": 1e-3},
        "chinese-other": {"model": "trained:chinese", "layers": 2, "learning_rate": 1e-3},
        "multilingual": {"model": "trained:multilingual", "learning_rate": 1e-3},
    },
    max_length=32,
    teacher={"epochs": 3, "learning_rate": 2e-4, "batch_size": 32, "select": "last", "held_out": 0.0},
    student={"epochs": 3, "learning_rate": 2e-4, "batch_size": 32, "tolerance": 1.0},  # the results are of that rule
    seeds=(0, 1, 2),
    sets=FEW_TEXTS,
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
