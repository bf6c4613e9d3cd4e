"""A name that no cell of a table has is refused; before, the command ran nothing and said nothing."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks.alloy import outside
from benchmarks.distill import own_rates
from benchmarks.harness.selection import nothing_selected
from benchmarks.muka import curve
from benchmarks.speed import floor


@pytest.mark.parametrize(
    ("only", "told"),
    [
        ({"setting": ["genres-2-deal1", "no-such"]}, "--setting: expected one of genres-2-deal1, "),
        ({"pool": ["natural"]}, "--pool: expected one of disjoint; got natural"),
        ({"method": ["mukka"]}, "; got mukka"),
        ({"seed": [9]}, "--seed: expected one of 0"),
    ],
)
def test_a_value_that_no_cell_has(only: dict[str, list[Any]], told: str) -> None:
    assert told in str(nothing_selected([outside.TABLE], only))


def test_values_that_no_cell_has_together() -> None:
    together = {"pool": ["disjoint5"], "setting": ["mnli_10k"]}
    told = "expected options that one cell has together; no cell has --pool disjoint5, --setting mnli_10k"
    assert nothing_selected([own_rates.TABLE], together) == told
    assert nothing_selected([own_rates.TABLE], together | {"setting": ["sst2-mpnet"]}) is None


def test_one_of_several_tables_is_enough() -> None:
    assert nothing_selected([outside.TABLE, own_rates.TABLE], {"setting": ["mnli_10k"]}) is None
    assert nothing_selected([curve.TABLE], {"setting": ["ag_news"], "seed": None}) is None
    assert "got x" in str(nothing_selected([curve.TABLE], {"setting": ["x"]}))
    assert nothing_selected([floor.TABLE], {"setting": ["ag_news"]}) is None, "it has no cells to choose from"


def test_the_command_refuses_before_it_runs_anything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(type(outside.TABLE), "fill", lambda self, *_, **__: ran.append(self.name))
    for last in (["outside", "--setting", "x"], ["outside", "no-table"]):
        monkeypatch.setattr(sys, "argv", ["benchmarks", "alloy", *last, "--data", str(tmp_path)])
        with pytest.raises(SystemExit) as stopped:
            command.main()
        assert stopped.value.code == 2
        assert "x" in capsys.readouterr().err or "no-table" in last
    assert ran == []
