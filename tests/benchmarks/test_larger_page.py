"""Students with 3,000 texts stand beside those with 500 or at another rate, and each minus fine-tuning of the same number of layers."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.distill import larger, larger_page, own_rates, own_rates_page, rlkd4
from benchmarks.harness.results import letters


def cells(setting: str, **right: int) -> dict[str, Any]:
    """Students that are right on as many of 400 texts as told."""
    teachers = {f"teacher{i}": {"accuracy": 0.5 + i / 10} for i in (1, 2, 3, 4)}
    found: dict[str, Any] = {"teachers": {"teachers": teachers, "labels": letters([0] * 400)}}
    for method, n in right.items():
        found[method.replace("__", "-")] = {"answers": letters([0] * n + [1] * (400 - n)), "accuracy": n / 400}
    return {f"{setting}/shared/0/{method}": {"status": "done"} | cell for method, cell in found.items()}


def test_large_stands_beside_small_and_against_fine_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    students = {"supervised": 300, "u_ensemble": 340, "supervised__six": 360, "mt_bert__six": 320}
    now = cells("sst2", **students) | cells("mrpc", supervised=280)
    before = {rlkd4.TABLE.name: cells("sst2", supervised=260)}
    monkeypatch.setattr(larger_page, "cells_of", lambda table: before[table.name])
    lines = "\n".join(larger_page.body(larger.TABLE, now))
    assert "| teacher minilm4 | 70.0 (1 seed) | not run | not run | 70.0 (1 seed) |" in lines
    assert (
        "| FT | 75.0 (1 seed) [65.0 (1 seed)] | not run [not run] | not run [not run] | 70.0 (1 seed) [not run] |"
        in lines
    )
    assert "| two layers | U-Ensemble | **+10.0 (" in lines
    assert "| six layers | MT-BERT | **−10.0 (" in lines


def test_other_rates_stand_beside_the_table_before_and_settings_without_cells_have_no_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = cells("sst2-mpnet", supervised=300, best_single=340) | cells("mnli_10k", supervised=200)
    before = {larger.TABLE.name: cells("sst2", supervised=260)}
    others = cells("sst2-mpnet", vanilla_kd__six=320, vanilla_kd__own_epochs__six=280, vanilla_kd__thirty_epochs=240)
    now |= {key.replace("/shared/", "/disjoint/"): cell for key, cell in others.items() if "vanilla" in key}
    now |= {"sst2-mpnet/disjoint5/0/vanilla_kd-six": cells("x", one=360)["x/shared/0/one"]}
    now |= cells("sst2-mpnet", supervised__six=360, supervised=300)
    monkeypatch.setattr(own_rates_page, "cells_of", lambda table: before[table.name])
    lines = own_rates_page.body(own_rates.TABLE, now)
    assert "| accuracy, % | SST-2, with MPNet-base | MNLI |" in lines
    assert "| teacher mpnet | 60.0 (1 seed) | – |" in lines
    assert "| teacher minilm6 | 70.0 (1 seed) | 60.0 (1 seed) |" in lines
    assert "| FT | 75.0 (1 seed) [65.0 (1 seed)] | 50.0 (1 seed) [not run] |" in lines
    assert any(line.startswith("| two layers | Best-Single-Ensemble | **+10.0 (") for line in lines)
    assert "| Vanilla KD, 15,000 other texts without labels | 90.0 (1 seed) | not run |" in lines
    assert "| Vanilla KD, 3,000 other texts without labels | 80.0 (1 seed) | not run |" in lines
    assert any(
        line.startswith("| six layers | Vanilla KD, 3,000 other texts without labels | **−10.0 (") for line in lines
    )
    students = "\n".join(lines).split("Students of six layers:")
    assert "| Vanilla KD, 3,000 other texts without labels, 30 epochs | 60.0 (1 seed) [not run] |" in students[0]
    longer = "| Vanilla KD, 3,000 other texts without labels, alloykit's number of epochs | 70.0 (1 seed) | not run |"
    assert longer in students[1]
    assert "| Vanilla KD, 3,000 other texts without labels, 30 epochs | 60.0" not in students[1]
