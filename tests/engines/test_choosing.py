"""Which engine a recipe or a command names, and what this process does as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from alloykit.engines.choose import engine_of, engine_options, part_engine_of, sweep_engine
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import Job
from alloykit.engines.local import LocalEngine
from alloykit.engines.parts import LocalParts
from alloykit.engines.ray import RayEngine
from alloykit.engines.ray_data import RayDataParts
from alloykit.errors import AlloyError

RAY = EngineOptions(name="ray", workers=4)


def test_an_engine_is_given_in_several_ways() -> None:
    assert engine_options(RAY) is RAY
    assert engine_options({"name": "ray", "workers": 4}) == engine_options("{name: ray, workers: 4}") == RAY
    assert engine_options("ray") == EngineOptions(name="ray")
    assert engine_options(None) == engine_options("local") == EngineOptions()


@pytest.mark.parametrize("given", ["spark", "{name: ray, workers: 0}", {"workers": -1}, 5, ["ray"], {"trainers": 2}])
def test_what_is_no_engine_is_refused(given: object) -> None:
    with pytest.raises(AlloyError, match=r"`engine` as local or ray, or as a block.*got "):
        engine_options(given)


def test_each_name_has_its_engines() -> None:
    local = EngineOptions()
    assert isinstance(engine_of(local), LocalEngine)
    assert isinstance(part_engine_of(local), LocalParts)
    assert sweep_engine(local, "cpu") is None
    for engine in (engine_of(RAY), part_engine_of(RAY)):
        assert isinstance(engine, RayEngine | RayDataParts)
        assert engine.options is RAY
    sweep = sweep_engine(RAY, "cuda")
    assert sweep is not None
    assert isinstance(sweep.engine, RayEngine)
    assert sweep.device == "cuda"


@pytest.mark.parametrize(
    ("gpus", "here", "wanted", "device"),
    [
        (0, "cuda", "auto", "cpu"),
        (0, "cuda", "cuda", "cpu"),
        (0.5, "cpu", "auto", "cuda"),
        (0.5, "cpu", "cuda", "cuda"),
        (0.5, "cpu", "cpu", "cpu"),
    ],
)
def test_where_the_models_of_workers_run(gpus: float, here: str, wanted: str, device: str) -> None:
    assert EngineOptions(name="ray", gpus_per_worker=gpus).device(here, wanted) == device
    assert EngineOptions(gpus_per_worker=gpus).device(here, wanted) == here


def test_this_process_does_one_job_after_another() -> None:
    made, done = list[int](), list[Any]()

    def worker() -> Any:
        made.append(1)
        return lambda job: done.append(job.payload) or -job.payload

    results = LocalEngine().run([Job("a", n) for n in (3, 1, 2)], worker, "work", "jobs")
    assert next(results) == (0, -3)
    assert done == [3], "the next job waits until its result is wanted"
    assert list(results) == [(1, -1), (2, -2)]
    assert made == [1]
    assert list(LocalEngine().run([], worker, "work", "jobs")) == []
    assert list(LocalParts().stream([], lambda item: [], worker)) == []
    assert made == [1], "without work there is no worker"


def parts(item: str) -> Iterator[str]:
    """Its letters. A "?" cannot be read."""
    for letter in item:
        if letter == "?":
            raise AlloyError(expected="a letter", got=letter)
        yield letter


def work(part: str) -> str:
    if part == "!":
        raise AlloyError(expected="a letter", got=part)
    return part.upper()


@pytest.mark.parametrize(("items", "last"), [(["ab", "", "c?d", "e"], 2), (["ab", "", "c!d", "e"], 2), (["?"], 0)])
def test_an_error_of_a_part_is_its_result_and_the_last_one(items: list[str], last: int) -> None:
    *found, (n, error) = LocalParts().stream(items, parts, lambda: work)
    assert found == [(0, "A"), (0, "B"), (2, "C")][: 3 * last]
    assert n == last
    assert isinstance(error, AlloyError)


def test_parts_come_in_the_order_of_items() -> None:
    assert list(LocalParts().stream(["ab", "", "c"], parts, lambda: work)) == [(0, "A"), (0, "B"), (2, "C")]
