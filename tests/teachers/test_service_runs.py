"""Runs that ask a service: limits, the key, another service, and a kill that loses no answer."""

from __future__ import annotations

import io
import logging
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from asked_service import KEY, TEI, answered, teacher, tei
from commandline import Call, Result, write_recipe
from local_service import local_service

from alloykit import AlloyError
from alloykit.data import load_texts
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.teachers.protocol import Reading
from alloykit.teachers.service import ServiceSpec


def test_limits_hold_over_all_runs(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(10)]
    with local_service(tei) as asked:
        for limit in ({"max_requests": 4}, {"max_cost": 0.6, "cost_per_request": 0.1}):
            for _ in range(2):
                with pytest.raises(AlloyError, match="Raise `max_requests` or `max_cost`"):
                    answered(teacher(asked.url, tmp_path, **TEI, batch=1, **limit), texts)
            assert len(asked.bodies) == (4 if "max_requests" in limit else 6), "the second limit leaves 2 more"
        assert len(answered(teacher(asked.url, tmp_path, **TEI, batch=1), texts)) == 10
        assert Counter(str(body) for body in asked.bodies).most_common(1)[0][1] == 1


@pytest.mark.slow
def test_a_run_that_a_limit_stopped_after_the_training_goes_on_with_a_higher_one(
    recipe: dict[str, Any], models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    """The texts of the test need more requests than the limit leaves. A higher limit is not another recipe."""

    def answer(body: Any) -> Any:
        odd = [len(text) % 2 for text, *_ in body["inputs"]]
        return [[{"label": "track", "score": 0.1 + 0.8 * x}, {"label": "damaged", "score": 0.9 - 0.8 * x}] for x in odd]

    def run(limit: int) -> Result:
        service = {"url": asked.url, "name": "delivery", "max_requests": limit, "batch": 1, "format": "tei"}
        service |= {"labels": ["track", "damaged"]}
        changes = {"teachers": [str(models["billing"]), service], "method": "vanilla_kd"}
        return call("amalgamate", write_recipe(tmp_path, recipe | changes))

    weights = tmp_path / "run" / "student" / "model.safetensors"
    with local_service(answer) as asked:
        run(125).refused("125 requests", "max_requests")
        before = weights.read_bytes()
        again = run(1000)
    assert again.code == 0, again.out
    assert weights.read_bytes() == before
    assert len(asked.bodies) == 32 + 80 + 30, "the probe's texts, and each text of pool and test, once"


def killed_after(url: str, folder: Path, texts: list[str], answers: int, parallel: int) -> None:
    """Ask in a process that a SIGKILL ends after so many answers."""

    def run() -> None:
        done = 0

        def advance(n: int) -> None:
            nonlocal done
            done += n
            if done >= answers:
                os.kill(os.getpid(), signal.SIGKILL)

        asks = teacher(url, folder, **TEI, batch=1, parallel=parallel)
        asks.answer(asks.prepare(texts), advance)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_killed_run_asks_for_no_answer_twice(tmp_path: Path, parallel: int) -> None:
    """Except for those that were under way at the kill: a worker asks the next text before the run counts the last one."""
    texts = [f"bug {n}" if n % 3 else f"text {n}" for n in range(40)]
    with local_service(tei) as asked:
        reference = teacher(asked.url, **TEI)
        whole = reference.answer(reference.prepare(texts), lambda n: None).logits
        asked.bodies.clear()
        killed_after(asked.url, tmp_path, texts, 15, parallel)
        before = len(asked.bodies)
        assert 15 <= before < 40
        (journal,) = tmp_path.glob("*.jsonl")
        journal.write_bytes(journal.read_bytes() + b'{"requests": 1, "answ')  # a line that the kill has cut off
        again = teacher(asked.url, tmp_path, **TEI, batch=1)
        assert torch.equal(again.answer(again.prepare(texts), lambda n: None).logits, whole), "the same bits"
        repeated = [body for body, times in Counter(str(b) for b in asked.bodies).items() if times > 1]
        assert len(repeated) <= parallel, "only what was under way at the kill"
        assert not any(text in path.read_text() for path in tmp_path.glob("*.jsonl") for text in texts)
        done = len(asked.bodies)
        answered(teacher(asked.url, tmp_path, **TEI), texts)
        assert len(asked.bodies) == done
        answered(teacher(asked.url, tmp_path, **TEI, version="2"), texts[:3])
        assert len(asked.bodies) == done + 1, "another version is asked anew"


def test_a_store_notices_another_service(tmp_path: Path) -> None:
    sure = 0.75

    def answer(body: Any) -> Any:
        return [[{"label": "bug", "score": sure}] for _ in body["inputs"]]

    with local_service(answer) as asked:
        info = ServiceSpec(url=asked.url, **TEI).describe("service")
        store, texts = Store(tmp_path / "cache"), load_texts([f"text {n}" for n in range(40)])
        sweep([info], texts, store, SweepOptions())
        assert len(asked.bodies) == 1 + 2, "the probe texts, and two batches"
        sweep([info], texts, Store(tmp_path / "cache"), SweepOptions())
        assert len(asked.bodies) == 3, "a finished sweep asks nothing"
        more = load_texts(["one more"])
        sweep([info], more, Store(tmp_path / "cache"), SweepOptions())
        assert len(asked.bodies) == 4, "on the same day the probe texts are not asked again"
        sure = 0.25
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("alloykit.teachers.service.time.strftime", lambda *_: "another day")
            with pytest.raises(AlloyError, match="other answers to 32 of 32"):
                sweep([info], load_texts(["and more"]), Store(tmp_path / "cache"), SweepOptions())
        changed = ServiceSpec(url=asked.url, **TEI, version="2").describe("service")
        with pytest.raises(AlloyError, match="teacher 'service'"):
            sweep([changed], texts, Store(tmp_path / "cache"), SweepOptions())


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What all loggers say, from DEBUG on."""
    text, level = io.StringIO(), logging.root.level
    handler = logging.StreamHandler(text)
    logging.root.addHandler(handler)
    logging.root.setLevel(logging.DEBUG)
    yield text
    logging.root.setLevel(level)
    logging.root.removeHandler(handler)


@pytest.mark.slow
def test_a_whole_run_keeps_the_key_out_of_everything(
    recipe: dict[str, Any],
    tmp_path: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    logged: io.StringIO,
) -> None:
    def answer(body: Any) -> Any:
        return [[{"label": "track", "score": 0.9 if "a" in text else 0.2}] for (text,) in body["inputs"]]

    with local_service(answer) as asked:
        service = {"url": asked.url, "format": "tei", "labels": ["track", "damaged"], "name": "service"}
        service |= {"key_env": "SERVICE_KEY", "cost_per_request": 0.5, "max_requests": 3}
        recipe |= {"teachers": [recipe["teachers"][0], service], "method": "vanilla_kd"}
        recipe |= {"training": {"epochs": 1, "max_length": 32}}
        path = write_recipe(tmp_path, recipe)
        shown = call("plan", path)
        assert "4 requests with the probe texts, cost 2.00: more than the 3 requests" in shown.out
        assert "gives probabilities (not of every text)" in shown.out
        assert not asked.bodies
        told = [shown.out, shown.err]
        call("amalgamate", path).refused("the environment variable SERVICE_KEY", "got none")
        monkeypatch.setenv("SERVICE_KEY", KEY)
        call("amalgamate", path).refused("at most 3 requests")
        service["max_requests"] = 50
        done = call("amalgamate", write_recipe(tmp_path, recipe))
        assert done.code == 0, done.err
        assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in asked.headers)
        texts = Counter(text for body in asked.bodies for (text,) in body["inputs"])
        assert max(texts.values()) == 1
        told += [done.out, done.err, logged.getvalue()]
        assert asked.url in logged.getvalue(), "the requests are logged"
    files = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) > 10
    assert not any(KEY in text for text in told)
    assert not any(KEY.encode() in content for content in files)


def test_ids_of_texts_are_salted_in_the_journal(tmp_path: Path) -> None:
    with local_service(tei) as asked:
        info = ServiceSpec(url=asked.url, **TEI).describe("service")
        for salt in ("", "pepper", "pepper"):
            answered(info.load(Reading(salt=salt, folder=str(tmp_path))), ["a", "b"])
        assert len(asked.bodies) == 2
    assert "pepper" not in repr(Reading(salt="pepper"))
