"""Messages about Ray, and what its workers do with parts: without a cluster."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from alloykit.engines import ray as engine
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.ray_data import _Answerer, _Reader, _row, _settings
from alloykit.engines.ray_train import _cause_in
from alloykit.errors import AlloyError
from alloykit.processes import OtherProcessEnded

MINE = AlloyError(expected="a good text", got="a bad one", hint="Mend it.")
ENDED = OtherProcessEnded(expected="all processes", got="one less")


class Failed(Exception):
    """An error of the cluster."""


class OfWork(Failed):
    """An error of the work, with its cause."""

    def __init__(self, cause: BaseException | None = None) -> None:
        super().__init__("with a traceback")
        self.cause = cause


RAY = SimpleNamespace(exceptions=SimpleNamespace(RayError=Failed, RayTaskError=OfWork, UserCodeException=OfWork))


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(AlloyError, match=r"Ray, for `engine: ray`.*pip install 'alloykit\[ray\]'"):
        engine.connected(EngineOptions(name="ray"))


@pytest.mark.parametrize(("address", "shown"), [(None, "this machine"), ("ray://head:10001", "ray://head:10001")])
def test_a_cluster_that_cannot_be_reached_is_named(
    address: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that this process is connected to is used."""
    asked = list[dict[str, Any]]()

    def init(**options: Any) -> None:
        asked.append(options)
        raise ConnectionError("no route\nto host")

    ray = SimpleNamespace(is_initialized=lambda: False, init=init)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setenv("RAY_BACKEND_LOG_LEVEL", "")
    monkeypatch.delenv("RAY_BACKEND_LOG_LEVEL")
    with pytest.raises(AlloyError, match=f"a Ray cluster at {shown}; got 'no route'. Start one"):
        engine.connected(EngineOptions(name="ray", address=address))
    assert asked[0]["address"] == address
    assert os.environ["RAY_BACKEND_LOG_LEVEL"] == "fatal"
    ray.is_initialized = lambda: True
    assert engine.connected(EngineOptions(name="ray")) is ray
    assert len(asked) == 1


def test_an_error_of_the_cluster_is_one_message_and_one_of_the_work_stays() -> None:
    with (
        pytest.raises(AlloyError, match="a Ray cluster that runs until the end.*got 'lost'.*finished parts are kept"),
        engine.reached(RAY),
    ):
        raise Failed("lost\nmore")
    for error in (OfWork(), KeyError("x")):
        with pytest.raises(type(error)), engine.reached(RAY):
            raise error
    found = engine._cause(OfWork(MINE))
    assert type(found) is AlloyError
    assert str(found) == str(MINE)
    assert isinstance(engine._cause(OfWork(KeyError("x"))), OfWork)


def failed(**attributes: Any) -> Exception:
    error = RuntimeError("training failed")
    error.__dict__.update(attributes)
    return error


def test_the_error_of_a_training_process_is_that_of_the_command() -> None:
    """Rather one that says more than that another process has ended."""
    chained = failed()
    chained.__cause__ = MINE
    for error in (
        chained,
        failed(cause=MINE),
        failed(_base_exc=failed(cause=MINE)),
        failed(worker_failures={0: failed(cause=ENDED), 1: failed(cause=MINE)}),
        failed(worker_failures={0: failed(cause=MINE), 1: failed(cause=ENDED)}),
    ):
        found = _cause_in(error)
        assert type(found) is AlloyError
        assert (found.expected, found.got, found.hint) == (MINE.expected, MINE.got, MINE.hint)
    assert str(_cause_in(failed(worker_failures={0: ENDED, 1: failed(cause=KeyError("x"))}))) == str(ENDED)
    assert _cause_in(failed(cause="a text", worker_failures={0: KeyError("x")})) is None


def test_settings_of_ray_data_are_as_before_after_the_block() -> None:
    context = SimpleNamespace(enable_progress_bars=True, execution_options=SimpleNamespace(preserve_order=False))
    ray = SimpleNamespace(data=SimpleNamespace(DataContext=SimpleNamespace(get_current=lambda: context)))
    logger = logging.getLogger("ray.data")
    level = logger.level
    with pytest.raises(KeyError), _settings(ray):
        assert context.enable_progress_bars is False
        assert context.target_max_block_size == 1, "so that no part is joined with another"
        assert context.execution_options.preserve_order is True
        assert logger.level == logging.ERROR
        raise KeyError
    assert context.enable_progress_bars is True
    assert context.target_max_block_size is None
    assert context.execution_options.preserve_order is False
    assert logger.level == level


def read(table: Any) -> list[tuple[int, Any]]:
    return [(n, pickle.loads(value)) for n, value in zip(*table.to_pydict().values(), strict=True)]


def test_an_error_while_reading_is_the_last_part_of_its_item() -> None:
    def parts(item: str) -> Any:
        yield item
        raise MINE

    (first, part), (second, error) = (read(table)[0] for table in _Reader(parts, "/nowhere")(_row(7, "a")))
    assert (first, part, second) == (7, "a", 7)
    assert str(error) == str(MINE)


def test_a_worker_answers_parts_and_passes_errors_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made when it gets its first part, and an error of that is the result too."""
    made = list[int]()

    def worker() -> Any:
        made.append(1)
        if len(made) == 1:
            raise MINE
        return lambda part: part.upper()

    threads = list[int]()
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    quiet = list[bool]()
    monkeypatch.setattr("alloykit.engines.ray_data.set_quiet", quiet.append)
    answer = _Answerer(worker, 3, os.getcwd())
    assert quiet == [True]
    assert str(read(answer(_row(3, MINE)))[0][1]) == str(MINE)
    assert not made
    assert str(read(answer(_row(3, "a")))[0][1]) == str(MINE)
    assert [read(answer(_row(n, part))) for n, part in ((4, "b"), (5, "c"))] == [[(4, "B")], [(5, "C")]]
    assert len(made) == 2
    assert threads == [3]
