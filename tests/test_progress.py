"""Off a terminal long work says how far it is; a log file gets the same lines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from alloykit import progress
from alloykit.errors import AlloyError
from alloykit.progress import bar, library_bars_off, log_line, logged_to, rate, set_quiet, warn_line


class Clock:
    """Ten seconds between two looks at it."""

    now = 0.0

    def perf_counter(self) -> float:
        self.now += 10
        return self.now

    def strftime(self, form: str) -> str:
        return "2026-01-01 00:00:00"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(progress, "time", Clock())
    return progress.time  # type: ignore[attr-defined,no-any-return]


def test_a_log_that_is_a_link_or_a_pipe_gets_no_lines(tmp_path: Path) -> None:
    """A run folder may be somebody else's: its lines could name a command, and the link a script of the user."""
    (tmp_path / "recipe.yaml").touch()
    (tmp_path / "script").write_text("mine")
    (tmp_path / "link.log").symlink_to(tmp_path / "script")
    (tmp_path / "nowhere.log").symlink_to(tmp_path / "new")
    os.mkfifo(tmp_path / "pipe.log")
    for name in ("link.log", "nowhere.log", "pipe.log"):
        with logged_to(tmp_path / name, "recipe.yaml"):
            log_line("$(a command)")
    assert (tmp_path / "script").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def work(total: int | None = 1000) -> None:
    with bar("teacher billing", total, "reads") as advance:
        for _ in range(10):
            advance(100)


def test_a_line_at_least_every_thirty_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    work()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "teacher billing: 200 of 1,000 reads (20 %), 10/s, about 80 s left"
    assert len(lines) == 5, "after 20, 40, 60 and 80 of 100 seconds, and at the end"
    assert lines[-1].startswith("teacher billing: 1,000 reads in 110.0 s")


def test_a_bar_of_no_total_gives_no_lines_on_its_way(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    work(0)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_bar_of_an_unknown_total_says_how_far_it_is(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    work(None)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "teacher billing: 200 reads, 10/s"
    assert lines[-1].startswith("teacher billing: 1,000 reads in 110.0 s")


def test_a_single_text_is_no_plural(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with bar("student", 1) as advance:
        advance(1)
    assert capsys.readouterr().err.splitlines() == ["student: 1 text in 20.0 s (0.05/s)"]


def test_the_log_gets_the_lines_also_in_silence(
    clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_quiet(True)
    try:
        with pytest.raises(AlloyError), logged_to(tmp_path / "run.log", "recipe.yaml"):
            log_line("before the folder is a run's")
            warn_line("there are few texts")
            assert not (tmp_path / "run.log").exists()
            (tmp_path / "recipe.yaml").touch()
            work()
            raise AlloyError(expected="more", got="less")
    finally:
        set_quiet(False)
    log_line("outside")
    lines = (tmp_path / "run.log").read_text().splitlines()
    assert capsys.readouterr().err == "warning: there are few texts\noutside\n"
    assert lines[0] == "2026-01-01 00:00:00 before the folder is a run's"
    assert lines[1] == "2026-01-01 00:00:00 warning: there are few texts"
    assert len(lines) == 8
    assert lines[-1].endswith("ended by AlloyError: expected more; got less.")


def test_a_refused_command_leaves_no_log(tmp_path: Path) -> None:
    with pytest.raises(AlloyError), logged_to(tmp_path / "run.log", "recipe.yaml"):
        raise AlloyError(expected="more", got="less")
    assert not list(tmp_path.iterdir())


def test_nothing_done_yet_says_no_time_left() -> None:
    """Workers may take long before the first unit is finished."""
    from alloykit.progress import _so_far

    assert _so_far(0, 600, "reads", 20.0) == "0 of 600 reads (0 %), 0/s"
    assert _so_far(300, 600, "reads", 20.0) == "300 of 600 reads (50 %), 15/s, about 20 s left"


@pytest.mark.parametrize(
    ("per_second", "shown"),
    [(0.0, "0"), (0.05, "0.05"), (0.31, "0.31"), (3.04, "3.0"), (60.2, "60"), (12345.6, "12,346")],
)
def test_a_slow_rate_is_not_shown_as_zero(per_second: float, shown: str) -> None:
    assert rate(per_second) == shown


def test_bars_of_a_library_that_is_not_loaded_do_not_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "datasets", None)  # an import fails
        with library_bars_off():
            pass
    import datasets

    before = datasets.are_progress_bars_disabled()
    datasets.enable_progress_bars()
    with library_bars_off():
        assert datasets.are_progress_bars_disabled()
    assert not datasets.are_progress_bars_disabled()
    if before:
        datasets.disable_progress_bars()
