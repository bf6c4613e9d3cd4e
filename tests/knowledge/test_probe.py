"""A teacher that cannot be hashed is noticed by its answers. The teacher here answers as a test says."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from knowing import recorded

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import logits_unit
from alloykit.knowledge.sweep.probe import check_probe, compare_probe
from alloykit.knowledge.sweep.shard import Unanswered
from alloykit.teachers.probe_texts import PROBE_TEXTS

INFO: Any = SimpleNamespace(name="t", tolerance=0.01)


def teacher(first: float, unanswered: int = 1) -> Any:
    """It answers with this logit of the first label. To so many texts it has no answer."""
    asked = list[int]()

    def probe(texts: Any) -> Any:
        asked.append(len(texts))
        logits = torch.tensor([[first, 0.0]] * len(texts))
        logits[:unanswered] = torch.nan
        return SimpleNamespace(logits=logits)

    return SimpleNamespace(info=INFO, probe=probe, asked=asked)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """With one answer of the teacher, and what it answered to the probe."""
    found = Store(tmp_path)
    recorded(found, "t", 2)
    check_probe(found, teacher(0.0))
    found.save(logits_unit("t", "00000-5f2c"), {"logits": torch.zeros(1, 2)})
    return Store(tmp_path)


def test_a_teacher_is_asked_once_in_a_process(store: Store) -> None:
    same = teacher(0.02)
    for _ in range(2):
        check_probe(store, same)
    assert same.asked == [len(PROBE_TEXTS)]
    assert store.probed == {"t"}


@pytest.mark.parametrize(
    ("now", "changed"), [(teacher(0.1), len(PROBE_TEXTS) - 1), (teacher(0.0, 2), 1), (teacher(0.0, 0), 1)]
)
def test_another_teacher_is_refused_each_time(now: Any, changed: int, store: Store) -> None:
    for _ in range(2):
        with pytest.raises(AlloyError, match=f"other answers to {changed} of {len(PROBE_TEXTS)} fixed texts"):
            check_probe(store, now)
    assert not store.probed


@pytest.mark.parametrize("now", [[None, [0.5, 0.5], [0.5, 0.5]], [None], [None, [0.5, 0.5, 0.0]], [None, None]])
def test_answers_of_another_shape_are_other_answers(now: list[list[float] | None], tmp_path: Path) -> None:
    store = Store(tmp_path)
    recorded(store, "t", 2)
    compare_probe(store, INFO, [None, [0.5, 0.5]])
    store.save(logits_unit("t", "00000-5f2c"), {"logits": torch.zeros(1, 2)})
    with pytest.raises(AlloyError, match=f"other answers to 1 of {len(now)} fixed texts"):
        compare_probe(store, INFO, now)


def test_without_outputs_another_teacher_may_come(tmp_path: Path) -> None:
    store = Store(tmp_path)
    recorded(store, "t", 2)
    for first in (0.0, 5.0):
        check_probe(Store(tmp_path), teacher(first))
    answers = json.loads((tmp_path / "teachers" / "t" / "probe.json").read_text())["answers"]
    assert answers[0] is None
    assert answers[1][0] > 0.99


def test_some_texts_without_an_answer_are_shown() -> None:
    """The first ones in the order of the shards, whichever worker found them first."""
    shards = {"00000-a": torch.arange(10), "00001-b": torch.arange(10, 20)}

    class Texts2000:
        table = SimpleNamespace(select=lambda at: {"source_row": [100 + n for n in at]})

        def __len__(self) -> int:
            return 2_000

    texts: Any = Texts2000()
    parts = [Unanswered(), Unanswered(), Unanswered()]
    parts[0].add("00001-b", [1, 2, 3, 4, 5, 6])
    assert parts[0].some == [("00001-b", row) for row in range(1, 6)]
    parts[1].add("00000-a", [7])
    parts[1].add("00000-a", [3, 5])
    for part in parts[:2]:
        parts[2].include(part)
    assert parts[2].count == 9
    line = parts[2].line("t", texts, shards)  # type: ignore[arg-type]
    assert line == "teacher t: no answer to 9 of 2,000 texts (rows 103, 105, 107, 111, 112, …, counted from 0)"
    parts[0].add("00000-a", [8, 9])
    assert parts[0].some == [("00000-a", 8), ("00000-a", 9), *(("00001-b", row) for row in (1, 2, 3))]
    few = Unanswered()
    few.add("00000-a", [0, 1, 2, 3, 4])
    assert "(rows 100, 101, 102, 103, 104, counted" in few.line("t", texts, shards)  # type: ignore[arg-type]
