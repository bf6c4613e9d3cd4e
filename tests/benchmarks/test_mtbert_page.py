"""MT-BERT's settings are compared with each other: the cells of one data set come together under names of their own."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.distill import mtbert, mtbert_page
from benchmarks.distill.mtbert_page import ALONE, NO_HIDDEN, OURS
from benchmarks.harness.results import letters


def cells(**labels: str) -> dict[str, Any]:
    """Students of settings, each right on as many of four texts as told."""
    right = {
        "sst2-apart": {"supervised-student3": 1, OURS: 2},
        "sst2-together": {OURS: 4, "mt_bert-no-task": 3},
        "sst2-minilm4": {OURS: 0},
        "sst2-roberta": {OURS: 0, NO_HIDDEN: 3},
    }
    found: dict[str, Any] = {}
    for setting, students in right.items():
        teachers = {f"teacher{i}": {"accuracy": 0.5} for i in (1, 2, 3)}
        about = {"status": "done", "teachers": teachers, "labels": labels.get(setting, letters([0, 0, 0, 0]))}
        found[f"{setting}/shared/0/teachers"] = about
        for method, n in students.items():
            answers = letters([0] * n + [1] * (4 - n))
            found[f"{setting}/shared/0/{method}"] = {"status": "done", "answers": answers, "accuracy": n / 4}
    return found | {"rte-apart/shared/0/supervised-student3": {"status": "done", "accuracy": 0.9}}


def test_settings_come_together() -> None:
    part = mtbert_page._joined(cells(), "sst2")
    got = {m: part.values(m, "accuracy")[0] for m in (OURS, ALONE, "supervised-student3", "mt_bert-no-task", "minilm4")}
    assert got == {OURS: 1.0, ALONE: 0.5, "supervised-student3": 0.25, "mt_bert-no-task": 0.75, "minilm4": 0.0}
    assert part.compare(OURS, [ALONE])[ALONE]["difference"] == pytest.approx(0.5)


def test_other_test_texts_are_not_compared() -> None:
    with pytest.raises(AssertionError, match="sst2-together/shared/0/teachers has other test texts"):
        mtbert_page._joined(cells(**{"sst2-together": letters([1, 0, 0, 0])}), "sst2")


def test_the_page_names_every_cell_of_the_table() -> None:
    lines = "\n".join(mtbert_page.body(mtbert.TABLE, cells()))
    for title in ("TinyBERT, 2 layers", "minilm4 + roberta", "without task loss", "RTE", "OhSumed"):
        assert title in lines
    assert "| − without co-finetuning | +50.0" in lines
    assert "| roberta | 0.0 (1 seed) |" in lines
    assert "| roberta, without hidden loss | 75.0 (1 seed) |" in lines
