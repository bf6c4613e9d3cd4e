"""Shared fixtures: no network, few threads, two teachers of disjoint labels and a student encoder."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(Path(__file__).parent))

import pytest
import tiny
import torch

torch.set_num_threads(1)

BILLING = ("refund", "charge", "invoice")
DELIVERY = ("track", "damaged")
DRAWN = ("test_commands.py", "test_evaluate.py", "test_report.py")  # these write into the finished run that others read


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny models: teachers `billing` (BERT) and `delivery` (RoBERTa), and `encoder`."""
    root = tmp_path_factory.mktemp("models")
    return {
        "billing": tiny.classifier(root / "billing", BILLING, "bert", seed=1),
        "delivery": tiny.classifier(root / "delivery", DELIVERY, "roberta", seed=2),
        "encoder": tiny.encoder(root / "encoder", "bert", seed=3),
    }


@pytest.fixture
def recipe(models: dict[str, Path], tmp_path: Path) -> dict[str, object]:
    """A small recipe as a dictionary; its texts are in a csv file, its output does not exist yet."""
    import csv

    texts = tmp_path / "texts.csv"
    with texts.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([t] for t in tiny.texts(80))
    test = tmp_path / "test.csv"
    with test.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        labels = [*BILLING, *DELIVERY]
        writer.writerows([t, labels[i % 5]] for i, t in enumerate(tiny.texts(30, seed=9)))
    return {
        "teachers": [str(models["billing"]), str(models["delivery"])],
        "texts": str(texts),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": {"name": "muka", "passes": 4},
        "training": {"epochs": 2, "learning_rate": 1e-3, "batch_size": 16, "max_length": 32},
        "evaluate": {"data": {"path": str(test), "label": "label"}},
        "output": str(tmp_path / "run"),
    }


@pytest.fixture(autouse=True)
def _quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Spare runs of tiny models what takes most of their time: pictures, where no test looks at them; and garbage collection, for
    which training asks several times, and which looks through all the imported modules each time."""
    if request.path.parent.name not in ("reporting", "browser") and request.path.name not in DRAWN:
        monkeypatch.setattr("alloykit.reporting.figures.inline", lambda *_: "<svg></svg>")
    gc.freeze()
    yield
    gc.unfreeze()
