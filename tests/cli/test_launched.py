"""Of several processes that a launcher has started, one prints an error that all have, and none ends before it has."""

from __future__ import annotations

import signal
import time

import pytest

from alloykit import processes
from alloykit.cli.errors import exit_codes
from alloykit.errors import AlloyError


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_others_let_the_first_process_speak(
    rank: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A launcher ends all processes as soon as one has failed: the first one must have printed its message by then."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(SystemExit) as ended, exit_codes():
        raise AlloyError(expected="a", got="b")
    assert ended.value.code == 2
    assert waited == ([processes.FIRST_SPEAKS_S * rank] if rank else [])
    assert capsys.readouterr().err.startswith(f"process {rank}: error: " if rank else "error: ")


def test_so_they_do_if_it_has_printed_its_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    error = processes.OtherProcessEnded(expected="a", got="b")
    error.reason_printed = True
    with pytest.raises(SystemExit), exit_codes():
        raise error
    assert waited == [processes.FIRST_SPEAKS_S]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("rank", "after"), [(0, signal.SIG_IGN), (1, signal.SIG_DFL)])
def test_the_first_process_is_not_ended_before_its_message(
    rank: int, after: signal.Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher's SIGTERM may come while it leaves the stages. The others wait for that signal, in `let_first_speak`."""
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "2")
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(AlloyError), processes._ends_at_once():
            raise AlloyError(expected="a", got="b")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "its own error ends no other process"
        with pytest.raises(processes.OtherProcessEnded), processes._ends_at_once():
            raise processes._ended(2)
        assert signal.getsignal(signal.SIGTERM) is after
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with processes._ends_at_once():
            pass
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
