"""An interrupt that some library swallows is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from commandline import run_here

from alloykit.cli import main as cli
from alloykit.interrupts import noted_interrupts, raise_noted
from alloykit.progress import bar


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    """Ray, once it has been started in this process, leaves its own handler of SIGTERM. With `nohup`, SIGHUP is ignored."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Finalised:
    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))  # Python runs the handler here, and prints its exception as ignored


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_it_comes_again_at_the_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    """And Python says nothing of an ignored exception."""
    done = 0
    with noted_interrupts(), pytest.raises(KeyboardInterrupt), bar("steps", 5) as advance:
        for n in range(5):
            if n == 2:
                Finalised()
            done = n
            advance(1)
    assert done == 2
    assert "ignored" not in capsys.readouterr().err


def test_afterwards_all_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with noted_interrupts():
        assert signal.getsignal(signal.SIGINT) is not before
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    raise_noted()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_a_command_as_ctrl_c_does(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "app", lambda **_: os.kill(os.getpid(), number))
    found = run_here("methods")
    assert (found.code, found.err) == (
        128 + number,
        "stopped. Run the same command again; what is finished is not computed again.\n",
    )


def test_an_error_that_an_interrupt_caused_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), noted_interrupts():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("No module named 'version'") from None
    with pytest.raises(ImportError), noted_interrupts():
        raise ImportError("really missing")


def test_a_signal_that_is_ignored_stays_so() -> None:
    """With `nohup`. And a launcher's signals are its own."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with noted_interrupts():
        os.kill(os.getpid(), signal.SIGHUP)
    with noted_interrupts(processes=2):
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_ends_at_once() -> None:
    with noted_interrupts():
        if not (child := os.fork()):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM


def test_in_another_thread_it_changes_nothing() -> None:
    seen = []

    def work() -> None:
        with noted_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


def test_ctrl_c_while_python_ends_is_no_error() -> None:
    """A library's clean-up gets it, after the command's last line."""
    code = (
        "import atexit, os, signal\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "from alloykit.interrupts import ignore_interrupts_at_exit\n"
        "ignore_interrupts_at_exit()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
