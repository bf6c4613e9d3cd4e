"""Labelled texts of one task, and a recipe's parts about them, for the tests of `distill` and `teach --together`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import tiny

LABELS = ["no", "yes"]
TRAINING = {
    "epochs": 1,
    "learning_rate": 1e-3,
    "batch_size": 8,
    "max_length": 32,
    "check_every": 3,
    "save_every_seconds": 0,
}


def rows(n: int, seed: int, pairs: bool) -> list[dict[str, str]]:
    texts, seconds = tiny.texts(n, seed=seed), tiny.texts(n, seed=seed + 50)
    found = [{"text": t, "label": LABELS[i % 2]} for i, t in enumerate(texts)]
    return [row | {"text_pair": s} for row, s in zip(found, seconds, strict=True)] if pairs else found


def table(path: Path, n: int = 40, seed: int = 0, pairs: bool = False) -> dict[str, str]:
    found = rows(n, seed, pairs)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    return {"path": str(path), "label": "label"} | ({"text_pair": "text_pair"} if pairs else {})


def arguments(teachers: list[Path], models: dict[str, Path], folder: Path, method: Any, **more: Any) -> dict[str, Any]:
    pairs = more.pop("pairs", False)
    if isinstance(method, dict) and method["name"] == "rl_kd":
        method = method | {"encoder": str(models["encoder"])}
    return {
        "teachers": teachers,
        "texts": table(folder / "train.csv", pairs=pairs),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": method,
        "training": TRAINING,
        "validation": table(folder / "dev.csv", 20, 7, pairs),
        "evaluate": table(folder / "test.csv", 20, 9, pairs),
        "output": folder / "run",
    } | more
