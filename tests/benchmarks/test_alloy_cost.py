"""The cost of Alloy: teachers are made before the clock starts, and a run's times are read before its folder goes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.alloy import cost

SECONDS = {"vanilla_kd": 100.0, "alloy": 108.0, "muka": 150.0}  # CPU time of a run


@pytest.fixture
def clock() -> dict[str, float]:
    return {"cpu": 0.0}


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, clock: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that only move the clock. The first recipe of a setting takes as long as training its teachers."""

    class Stages:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.folder, self.profile, self.taught = tmp_path, SimpleNamespace(texts=1500), False

        def recipe(self, pool: str, spec: dict[str, Any], folder: Path) -> Any:
            clock["cpu"] += 0.0 if self.taught else 1000.0
            self.taught = True
            return SimpleNamespace(model_copy=lambda update: (spec["name"], folder))

    class Run:
        def __init__(self, recipe: tuple[str, Path], **_: Any) -> None:
            name, self.folder = recipe
            clock["cpu"] += SECONDS[name]
            self.folder.mkdir()
            (self.folder / "training.json").write_text(json.dumps({"seconds": 0.0}))

        @property
        def training(self) -> Any:
            return json.loads((self.folder / "training.json").read_text())

    monkeypatch.setattr(cost, "Stages", Stages)
    monkeypatch.setattr(cost, "run_recipe", Run)
    monkeypatch.setattr(cost, "time", SimpleNamespace(process_time=lambda: clock["cpu"], perf_counter=iter(range(99)).__next__))  # fmt: skip


def test_a_run_is_timed_without_its_teachers(tmp_path: Path) -> None:
    found = cost.run(tmp_path, tmp_path / "work" / "alloy")["settings"]
    assert found["ag_news"]["seconds"] == {"Vanilla KD": 100.0, "Alloy": 108.0, "MUKA, K = 8": 150.0}
    assert found["ag_news"]["alloy_against"]["Vanilla KD"] == {"ratio": 1.08, "from": 1.08, "to": 1.08}
    assert list(found["banking77-10"]["seconds"]) == ["Vanilla KD", "Alloy"]
    assert not (tmp_path / "cost").exists()
