"""Checkpoints take a small part of the time, and no run depends on which of them were written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_training import run

from alloykit import processes
from alloykit.training import save_timer
from alloykit.training.save_timer import SaveTimer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(save_timer.time, "monotonic", lambda: now[0])
    return now


def saved(timer: SaveTimer, clock: list[float], seconds: float) -> None:
    timer.begin()
    clock[0] += seconds
    timer.end()


def test_a_checkpoint_is_due_after_the_seconds(clock: list[float]) -> None:
    timer = SaveTimer(30)
    clock[0] += 29
    assert not timer.due()
    clock[0] += 1
    assert timer.due()
    saved(timer, clock, 1)
    clock[0] += 29
    assert not timer.due()
    clock[0] += 1
    assert timer.due(), "twenty times one second is shorter than 30 seconds"


def test_slow_checkpoints_are_rarer(clock: list[float]) -> None:
    timer = SaveTimer(30)
    saved(timer, clock, 4)
    clock[0] += 79
    assert not timer.due()
    clock[0] += 1
    assert timer.due()


def test_zero_is_every_check(clock: list[float]) -> None:
    timer = SaveTimer(0)
    saved(timer, clock, 4)
    assert timer.due()


def test_all_processes_get_the_answer_of_the_first(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Their clocks differ, and each of them writes a part of a sharded student."""
    asked: list[bool] = []
    monkeypatch.setattr(processes, "from_first", lambda own: asked.append(own) or True)
    assert SaveTimer(30).due()
    assert asked == [False]


def test_a_run_without_checkpoints_is_the_same_run(quiet_encoder: Path, tmp_path: Path) -> None:
    """Weights, the selected step and the whole history."""
    found = {}
    for name, seconds in (("all", 0), ("none", 3600)):
        options = {"batch_size": 8, "check_every": 2, "select": "unlabelled", "save_every_seconds": seconds}
        found[name] = run({"name": "vanilla_kd"}, quiet_encoder, tmp_path / name, n=40, checks=16, **options)
    (student, all_of_them), (other, none) = found["all"], found["none"]
    assert list((tmp_path / "all").rglob("checkpoint-*"))
    assert not list((tmp_path / "none").rglob("checkpoint-*"))
    assert all_of_them.selected_step == none.selected_step
    assert all(torch.equal(value, other.state_dict()[key]) for key, value in student.state_dict().items())
    timed = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second")
    histories = [[{k: v for k, v in e.items() if k not in timed} for e in r.history] for r in (all_of_them, none)]
    assert histories[0] == histories[1]
