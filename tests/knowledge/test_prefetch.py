"""What is prepared ahead comes in order; what is written behind is written, or its error comes out."""

from __future__ import annotations

import threading

import pytest

from alloykit.knowledge.sweep.prefetch import WAITING, WriteBehind, prefetch


def test_items_come_in_order_and_the_next_is_prepared_meanwhile() -> None:
    started = [threading.Event() for _ in range(4)]

    def prepare(n: int) -> int:
        started[n].set()
        return 10 * n

    found = []
    for value in prefetch(prepare, range(4)):
        found.append(value)
        if len(found) < 4:
            assert started[len(found)].wait(10), "the next item is under way while this one is in use"
    assert found == [0, 10, 20, 30]
    assert list(prefetch(prepare, [])) == []


def test_no_more_than_one_is_prepared_ahead() -> None:
    prepared: list[int] = []
    for n, _ in enumerate(prefetch(prepared.append, range(10))):
        assert len(prepared) <= n + 2


def test_an_error_while_preparing_comes_out_at_its_place() -> None:
    def prepare(n: int) -> int:
        if n == 2:
            raise ValueError("the third")
        return n

    found = []
    with pytest.raises(ValueError, match="the third"):
        for value in prefetch(prepare, range(5)):
            found.append(value)
    assert found == [0, 1]


def test_everything_is_written_in_order_when_the_block_ends() -> None:
    gate, written = threading.Event(), []
    with WriteBehind() as write_behind:
        write_behind(gate.wait, 10)
        for n in range(WAITING - 1):
            write_behind(written.append, n)
        assert written == [], "nothing keeps the caller waiting"
        gate.set()
    assert written == list(range(WAITING - 1))


def test_what_was_computed_before_an_error_is_written() -> None:
    gate, written = threading.Event(), list[int]()

    def write(n: int) -> None:
        gate.wait(10)
        written.append(n)

    with pytest.raises(KeyboardInterrupt), WriteBehind() as write_behind:
        for n in range(WAITING):
            write_behind(write, n)
        threading.Timer(0.05, gate.set).start()
        raise KeyboardInterrupt
    assert written == list(range(WAITING))


def test_the_writers_error_comes_out() -> None:
    def fail() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), WriteBehind() as write_behind:
        write_behind(fail)
    with pytest.raises(OSError, match="disk full"), WriteBehind() as write_behind:
        write_behind(fail)
        for _ in range(WAITING + 1):  # at the latest when so many wait, long before the end
            write_behind(lambda: None)
        pytest.fail("the error came out only at the end")


def test_the_first_error_comes_out_at_the_next_call_or_at_the_end() -> None:
    gate, failed = threading.Event(), threading.Event()

    def fail() -> None:
        gate.wait(10)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), WriteBehind() as write_behind:
        write_behind(fail)
        write_behind(failed.set)
        gate.set()
        assert failed.wait(10)
        write_behind(lambda: None)
        pytest.fail("the error came out only at the end")
    gate.clear()
    with pytest.raises(OSError, match="disk full"), WriteBehind() as write_behind:
        write_behind(fail)
        gate.set()


def test_no_more_results_wait_than_memory_is_meant_to_hold() -> None:
    gate, given = threading.Event(), list[int]()
    with WriteBehind() as write_behind:

        def give() -> None:
            for n in range(WAITING + 3):
                write_behind(gate.wait, 10)
                given.append(n)

        thread = threading.Thread(target=give)
        thread.start()
        thread.join(0.1)
        waiting = len(given)
        gate.set()
        thread.join()
    assert [waiting, len(given)] == [WAITING, WAITING + 3]


def test_an_error_of_the_block_is_not_hidden_by_the_writers() -> None:
    gate = threading.Event()

    def fail() -> None:
        gate.wait(10)
        raise OSError("disk full")

    with pytest.raises(KeyboardInterrupt), WriteBehind() as write_behind:
        write_behind(fail)
        gate.set()
        raise KeyboardInterrupt
