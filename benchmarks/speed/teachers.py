"""Teachers for time measurements only: the bundled encoder with an untrained head."""

from __future__ import annotations

from pathlib import Path

from alloykit.labels import LabelSpace
from alloykit.stages.train_student import save_classifier
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec

MAX_LENGTH = 512


def untrained(folder: Path, labels: list[str], seed: int, layers: int = 6) -> Path:
    if not (folder / "config.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        spec = StudentSpec(model="bundled:minilm", layers=layers, keep="even")
        model, tokenizer = build_student(spec, LabelSpace.union([labels], teacher_names=["t"]), seed)
        save_classifier(model, tokenizer, folder, MAX_LENGTH)
    return folder
