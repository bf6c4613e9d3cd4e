"""What a worker sends, and what the driver's store makes of it: without a model."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from knowing import recorded

from alloykit.engines.sent_units import SentUnits, private_store, put_unit, sent_units, sighting_of, unit_files
from alloykit.errors import AlloyError
from alloykit.knowledge.store.storage import Storage
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import logits_unit, passes_unit

LOGITS, PASSES = logits_unit("t", "00000-5f2c"), passes_unit("t", "00000-5f2c", 0)
INFO: Any = SimpleNamespace(name="t", tolerance=0.01)
SUMS = {"probability_sum": torch.ones(3, 2), "passes": torch.full((3,), 4, dtype=torch.int32)}


def sent(had: dict[str, bytes] | None = None, probability: float = 0.5) -> SentUnits:
    """What a worker has of a teacher that it has asked the probe. had: files of the logits, which the driver has sent to it."""
    store = private_store(7)
    assert store.shard_rows == 7
    recorded(store, "t", 2)
    if had is None:
        store.save(LOGITS, {"logits": torch.ones(3, 2)}, seconds=2.5, torch="1.0")
    else:
        put_unit(store, had)
    store.save(PASSES, SUMS, seconds=1.5)
    store.record_note("t", "probe", {"answers": [None, [probability, 1 - probability]]})
    store.record_note("t", "fingerprint-5f2c", {"source": "worker"})
    found = sent_units(store, "t", had or ())
    assert store.units("teachers/t") == set(), "the worker's memory is free again"
    assert store.identity("t", "teacher") is not None
    return pickle.loads(pickle.dumps(found))  # type: ignore[no-any-return]


def test_the_drivers_store_has_what_the_worker_computed(tmp_path: Path) -> None:
    sent().write(Store(tmp_path), INFO)
    store = Store(tmp_path)
    assert torch.equal(store.answers(LOGITS, 3)["logits"], torch.ones(3, 2))
    assert store.answers(PASSES, 3).keys() == SUMS.keys()
    assert store.seconds("t") == 4
    receipt = json.loads((tmp_path / f"{LOGITS}.json").read_text())
    assert receipt["torch"] == "1.0"
    assert json.loads((tmp_path / "teachers/t/fingerprint-5f2c.json").read_text()) == {"source": "worker"}


def test_the_store_writes_its_own_receipt() -> None:
    """What the worker's one says of its file, and of what made it, may be otherwise in the driver's store."""
    units = sent().units
    assert {unit: sorted(about) for unit, (_, about) in units.items()} == {
        LOGITS: ["seconds", "torch"],
        PASSES: ["seconds"],
    }


def test_what_the_driver_sent_does_not_come_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    recorded(store, "t", 2)
    store.save(LOGITS, {"logits": torch.ones(3, 2)})
    found = sent(unit_files(store, LOGITS))
    assert list(found.units) == [PASSES]


def test_a_note_of_the_driver_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.record_note("t", "fingerprint-5f2c", {"source": "driver"})
    sent().write(store, INFO)
    assert json.loads((tmp_path / "teachers/t/fingerprint-5f2c.json").read_text()) == {"source": "driver"}


def test_units_of_a_teacher_that_answers_otherwise_are_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sent().write(store, INFO)
    sent(probability=0.505).write(store, INFO)
    with pytest.raises(AlloyError, match="other answers to 1 of 2 fixed texts"):
        sent(probability=0.6).write(store, INFO)


def test_two_processes_see_the_same_store_or_not(tmp_path: Path) -> None:
    """A copy on another machine may lie at the same place."""
    Store(tmp_path / "k")
    seen = sighting_of(Storage(tmp_path / "k"))
    assert seen
    assert sighting_of(Storage(tmp_path / "k")) == seen
    assert sighting_of(Storage(tmp_path / "gone")) == ()
    shutil.copytree(tmp_path / "k", tmp_path / "copy", copy_function=shutil.copy)
    assert sighting_of(Storage(tmp_path / "copy")) != seen
    assert sighting_of(Storage("memory://k")) is None
