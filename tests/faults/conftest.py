"""A recipe whose sweep and training last some seconds, and what an uninterrupted run of it makes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml
from interrupted import Reference, amalgamate, result_of, without_saving
from shared import once, whole_run


def recipe_for(models: dict[str, Path], folder: Path) -> dict[str, Any]:
    texts = folder / "texts.txt"
    texts.write_text("\n".join(tiny.texts(450)), encoding="utf-8")
    return {
        "teachers": [str(models["billing"]), str(models["delivery"])],
        "texts": str(texts),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": {"name": "muka", "passes": 8},
        "training": {
            "epochs": 2.3,
            "learning_rate": 1e-3,
            "batch_size": 16,
            "max_length": 32,
            "check_every": 5,
            "save_every_seconds": 0,
        },
        "inference": {"tokens_per_batch": 1024},
        "output": str(folder / "run"),
    }


@pytest.fixture(scope="session")
def reference(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Reference:
    def make(folder: Path) -> None:
        amalgamate(recipe_for(models, folder))

    folder = once(whole_run(tmp_path_factory), "reference", make)
    return Reference(folder / "run", result_of(folder / "run"))


@pytest.fixture
def recipe_file(models: dict[str, Path], tmp_path: Path) -> Path:
    """The same recipe, with an output of its own."""
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe_for(models, tmp_path)))
    return path


@pytest.fixture(scope="session")
def unsaved(models: dict[str, Path], reference: Reference, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that died after the last step of training, before the student was saved. Copy it."""

    def make(folder: Path) -> None:
        shutil.copytree(reference.folder / "cache", folder / "run" / "cache")
        without_saving(recipe_for(models, folder))

    run = once(whole_run(tmp_path_factory), "unsaved", make) / "run"
    assert not (run / "student").exists()
    return run
