"""A name that no cell of a table has, an option that a table does not have, and a data set that is not there are refused in one line."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks.alloy import outside
from benchmarks.defaults import choice
from benchmarks.distill import own_rates
from benchmarks.faults import recipes
from benchmarks.harness.data import MissingData, read
from benchmarks.harness.results import RESULTS
from benchmarks.harness.selection import wrong_selection
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
    assert told in str(wrong_selection({"outside": outside.TABLE}, only))


def test_values_that_no_cell_has_together() -> None:
    together = {"pool": ["disjoint5"], "setting": ["mnli_10k"]}
    told = "expected options that one cell has together; no cell has --pool disjoint5, --setting mnli_10k"
    tables = {"own_rates": own_rates.TABLE}
    assert wrong_selection(tables, together) == told
    assert wrong_selection(tables, together | {"setting": ["sst2-mpnet"]}) is None
    assert wrong_selection(tables, {"setting": None, "seed": []}) is None


def test_one_of_several_tables_is_enough() -> None:
    both = {"outside": outside.TABLE, "own_rates": own_rates.TABLE}
    assert wrong_selection(both, {"setting": ["mnli_10k"]}) is None
    assert wrong_selection({"curve": curve.TABLE}, {"setting": ["ag_news"], "seed": None}) is None
    assert "got x" in str(wrong_selection({"curve": curve.TABLE}, {"setting": ["x"]}))


def test_an_option_that_a_table_does_not_have() -> None:
    told = "--setting: the table floor has no such option; it is run as a whole. Name only tables that have it: outside"
    assert wrong_selection({"outside": outside.TABLE, "floor": floor.TABLE}, {"setting": ["bbc_news-2-deal1"]}) == told
    told = "--pool: the table choice has no such option; it has --setting, --seed"
    assert wrong_selection({"choice": choice.TABLE}, {"pool": ["disjoint"]}) == told
    assert wrong_selection({"choice": choice.TABLE}, {"setting": ["ag_news"], "seed": [0]}) is None
    assert "got x" in str(wrong_selection({"choice": choice.TABLE}, {"setting": ["x"]}))
    assert wrong_selection({"recipes": recipes.TABLE}, {"seed": [17]}) is None
    assert "expected one of 0, 1, " in str(wrong_selection({"recipes": recipes.TABLE}, {"seed": [1000]}))


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


def test_a_table_that_is_run_as_a_whole_has_nothing_to_compare(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setattr(type(floor.TABLE), "fill", lambda *_, **__: pytest.fail("it ran"))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "speed", "floor", "--compare", str(tmp_path)])
    with pytest.raises(SystemExit):
        command.main()
    assert "--compare: expected tables that are made of cells" in capsys.readouterr().err


def test_the_committed_results_are_not_compared_with_themselves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setattr(type(outside.TABLE), "fill", lambda *_, **__: pytest.fail("it ran"))
    for last, told in (([], "has the committed ones"), (["--page"], "not allowed with argument")):
        of = ["--data", str(tmp_path), "--compare", str(RESULTS / ".." / "results"), *last]
        monkeypatch.setattr(sys, "argv", ["benchmarks", "alloy", "outside", *of])
        with pytest.raises(SystemExit):
            command.main()
        assert told in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--work", "--compare"])
def test_a_file_in_place_of_a_folder(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    """Before, --work with a file recorded every cell as failed, and --compare with one ended in a traceback."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(type(outside.TABLE), "fill", lambda *_, **__: pytest.fail("it ran"))
    folders = {"--work": tmp_path / "work", "--data": tmp_path, option: tmp_path / "file"}
    words = [str(word) for pair in folders.items() for word in pair]
    monkeypatch.setattr(sys, "argv", ["benchmarks", "alloy", "outside", *words])
    with pytest.raises(SystemExit):
        command.main()
    assert (
        f"{option}: expected a folder, or a place for a new one; got {tmp_path}/file: File exists"
        in capsys.readouterr().err
    )


def test_ctrl_c_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(outside.TABLE), "fill", stopped)
    monkeypatch.setattr(
        sys, "argv", ["benchmarks", "alloy", "outside", "--data", str(tmp_path), "--work", str(tmp_path)]
    )
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "stopped; finished cells are kept. Run the same command again to go on.\n"


def test_a_missing_set_is_told_in_one_line_and_is_no_outcome(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    folders = ["--data", str(tmp_path), "--work", str(tmp_path / "work"), "--compare", str(tmp_path / "results")]
    monkeypatch.setattr(sys, "argv", ["benchmarks", "alloy", "outside", "--setting", "bbc_news-2-deal1", *folders])
    with pytest.raises(SystemExit) as stopped:
        command.main()
    assert stopped.value.code == 2
    told = f"error: expected the file {tmp_path}/bbc_news/train.parquet; it is not there (benchmarks/DATA.md says how to get each data set)"
    assert told in capsys.readouterr().err
    assert not list(tmp_path.glob("results/*/*.json"))
    with pytest.raises(MissingData):
        read(tmp_path / "no.parquet")
