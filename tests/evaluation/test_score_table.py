"""The scores on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from alloykit.evaluation.score_table import COLUMNS, score_table


def shown(result: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(score_table(result))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(("teachers", "columns"), [(2, True), (COLUMNS, True), (COLUMNS + 1, False), (60, False)])
def test_columns_of_teachers(teachers: int, columns: bool) -> None:
    """A column for each of a few teachers; with more of them no cell would have room for a number."""
    groups = {f"t{n}": 0.25 + n / 1000 for n in range(teachers)}
    score = {"accuracy": 0.5, "macro_f1": 0.4, "groups": groups, "correct_teacher": 0.9}
    text = shown({"texts": 300, "scores": {"oracle routing": score}})
    (row,) = [line for line in text.splitlines() if "oracle routing" in line]
    numbers = [cell.strip() for cell in row.split("│")[2:-1]]
    of_teachers = [f"{25 + n / 10:.1f}" for n in range(teachers)] if columns else []
    assert numbers == ["50.0", "40.0", *of_teachers, "90.0"]
    assert (f"each of the {teachers} teachers" in " ".join(text.split())) != columns


def test_no_column_repeats_that_of_all_texts() -> None:
    def scores(**groups: float) -> dict[str, Any]:
        score = {"accuracy": 0.5, "macro_f1": 0.4, "groups": groups}
        return {"texts": 300, "scores": {"student": score, "routing": score | {"correct_teacher": 0.9}}}

    all_labels = shown(scores(first=0.5, second=0.5))  # as in distillation
    assert not any(word in all_labels for word in ("first", "second", "correct teacher", "teacher's labels"))
    assert all(
        word in shown(scores(first=0.5, second=0.6)) for word in ("second", "correct teacher", "teacher's labels")
    )
    assert "first" not in shown(scores(first=0.5, second=0.6))
    student = {"accuracy": 0.5, "macro_f1": 0.4, "groups": {"first": 0.6, "second": 0.4}}
    assert "correct teacher" not in shown({"texts": 300, "scores": {"student": student}})  # a model without routing


def test_columns_of_labels() -> None:
    for labels, columns in ((3, True), (100, False)):
        each = {f"l{n}": {"f1": 0.7} for n in range(labels)}
        score = {"micro_f1": 0.5, "macro_f1": 0.4, "exact": 0.3, "labels": each}
        text = shown({"texts": 300, "scores": {"oracle routing": score}})
        assert text.count("70.0") == (labels if columns else 0)
        assert ("F1 of each of the 100 labels" in " ".join(text.split())) != columns
