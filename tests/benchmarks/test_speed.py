"""What speed is compared with computes the same as alloykit; times taken in turns and the page made of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows
from benchmarks.harness import sections
from benchmarks.speed import busy, by_hand, measure, page, training_steps
from benchmarks.speed.measure import Measurement, in_turns, ratio


def test_the_loop_by_hand_has_mukas_weights() -> None:
    generator = torch.Generator().manual_seed(0)
    p = [torch.randn(40, c, generator=generator).mul(2).softmax(-1) for c in (2, 3)]
    w, v = by_hand.weights(p)
    rows = Rows(tuple(TeacherRows(q.log(), 16 * q, torch.full((40,), 16)) for q in p))
    space = LabelSpace.union([["a", "b"], ["c", "d", "e"]], teacher_names=["1", "2"])
    expected = create({"name": "muka", "temperature": by_hand.TAU}).supervise(rows, Context(space))
    assert expected is not None
    assert expected.teacher_weights is not None
    torch.testing.assert_close(w, expected.teacher_weights, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(v, expected.weights, rtol=1e-4, atol=1e-5)


def test_runs_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    times = in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b"] * 4
    assert {name: len(t) for name, t in times.items()} == {"a": 3, "b": 3}
    assert ratio({"x": [2.0, 6.0, 8.0], "y": [1.0, 2.0, 2.0]}, "x", "y")["ratio"] == 3.0


def test_a_ratio_of_two_rounds_goes_from_one_to_the_other() -> None:
    assert ratio({"x": [3.0, 1.0], "y": [2.0, 1.0]}, "x", "y") == {"ratio": 1.25, "from": 1.0, "to": 1.5}
    five = {"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [1.0] * 5}
    assert ratio(five, "x", "y") == {"ratio": 3.0, "from": 1.5, "to": 4.5}


def test_training_steps_are_counted_after_a_few_that_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WIDTH": 24, "LAYERS": 1, "BATCH": 2, "LENGTH": 4, "VOCABULARY": 20}.items():
        monkeypatch.setattr(training_steps, name, value)
    begun = iter([0.0, 10.0, *(10.0 + n for n in range(1, 100))])  # a second for each reading of the clock
    monkeypatch.setattr(training_steps.time, "perf_counter", lambda: next(begun))
    assert training_steps.steps_per_second(3) == pytest.approx(3 / 4)


def test_every_load_has_as_many_busy_programs_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[Any] = []
    seen: list[tuple[int, str]] = []

    class Program:
        def __init__(self, command: list[str]) -> None:
            running.append(self)

        def kill(self) -> None:
            running.remove(self)

        def wait(self) -> None:
            pass

    def steps(way: str) -> float:
        seen.append((len(running), way))
        return 2.0 if way == "alloykit" else 0.5

    monkeypatch.setattr(busy.subprocess, "Popen", Program)
    monkeypatch.setattr(busy, "_steps_per_second", steps)
    figures = busy.run(Path(), Path())
    assert sorted(set(seen)) == [(n, way) for n in busy.OTHERS for way in busy.WAYS]
    assert not running
    assert figures["loads"][2] == {"others": 2, "alloykit": 2.0, "default": 0.5}
    assert "| 2 | 2.0 | 0.5 | 4.0 × |" in page._busy(figures)


def test_a_measurement_is_kept_with_its_machine_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    ran: list[Path] = []

    def run(data: Path, work: Path) -> dict[str, Any]:
        ran.append(work)
        return {"by": {1: 2.5}}

    one = Measurement("toy", "a toy", run)
    one.fill(tmp_path, tmp_path / "work")
    one.fill(tmp_path, tmp_path / "work")
    assert len(ran) == 1
    one.fill(tmp_path, tmp_path / "work", retry=True)
    assert len(ran) == 2
    kept = json.loads(one.path.read_text())
    assert kept["figures"] == {"by": {"1": 2.5}}
    assert kept["command"] == "python -m benchmarks speed toy"
    assert kept["machine"]["threads"] == torch.get_num_threads()


def test_peak_memory_is_of_the_program_and_not_of_who_started_it() -> None:
    code = "from benchmarks.speed.peak import peak; print(peak())"
    hog = bytearray(700_000_000)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1 < float(done.stdout) < 500
    del hog


def test_the_page_names_what_was_not_measured_and_every_figure_that_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (page, sections):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    page.write()
    text = (tmp_path / "speed.md").read_text()
    assert text.count("Not measured yet.") == len(page.PARTS)
    figures = {"runs": [{"texts": 10_000, "peak_mb": 606.5, "seconds": 11}, {"texts": 1_000_000, "peak_mb": 640.2, "seconds": 800}], "growth": 1.056}  # fmt: skip
    made = {"command": "python -m benchmarks speed memory", "commit": "abc", "seconds": 1, "figures": figures,
            "machine": {"processor": "P", "threads": 2, "gpu": None, "torch": "2.13.0"}}  # fmt: skip
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "memory.json").write_text(json.dumps(made))
    page.write()
    text = (tmp_path / "speed.md").read_text()
    assert "| 1,000,000 | 640 | 800 |" in text
    assert "1.056 ×" in text
    assert "commit abc; P, threads: 2, GPU: none, torch 2.13.0" in text
