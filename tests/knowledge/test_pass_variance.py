"""The variance over the stored passes, of the texts that were asked for and no others; and how long it all took."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from knowing import SENTENCES, read, recorded, swept

from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import logits_unit, passes_unit
from alloykit.teachers.hugging_face import HuggingFaceInfo

IDS = [f"{n:032x}" for n in range(1, 11)]  # ten texts in shards of four, four and two
CLASSES = {"quiet": 3, "loud": 2}


@pytest.fixture(scope="module")
def passes() -> dict[str, np.ndarray]:
    """Per teacher, probabilities of 8 passes over ten texts: [8, 10, C_i], each text more restless than the one before."""
    rng = np.random.default_rng(0)
    found = {}
    for name, c in CLASSES.items():
        z = rng.normal(size=(10, c)) + np.arange(10)[:, None] / 5 * rng.normal(size=(8, 10, c))
        p = np.exp(z)
        found[name] = (p / p.sum(-1, keepdims=True)).astype(np.float32)
    return found


def stored(where: Path, passes: dict[str, np.ndarray], *, single: bool = True) -> Store:
    store = Store(where, shard_rows=4)
    store.add(IDS)
    for name, p in passes.items():
        recorded(store, name, CLASSES[name])
        for shard, rows in zip(store.shards(), (slice(0, 4), slice(4, 8), slice(8, 10)), strict=True):
            store.save(logits_unit(name, shard), {"logits": torch.zeros(p[0, rows].shape)})
            for start in (0, 4):
                kept = torch.from_numpy(p[start : start + 4, rows])
                unit = {"probability_sum": kept.sum(0), "passes": torch.full((kept.shape[1],), 4, dtype=torch.int32)}
                store.save(passes_unit(name, shard, start), unit | ({"per_pass": kept} if single else {}))
    return store


@pytest.fixture(scope="module")
def store(passes: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(tmp_path_factory.mktemp("store") / "k", passes)


def asked(store: Store, texts: list[int], k: int) -> StoredKnowledge:
    return StoredKnowledge(store, list(CLASSES), [IDS[n] for n in texts], passes=k)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
@pytest.mark.parametrize(
    "texts",
    [list(range(10)), [9, 0, 5], [3], [6, 7, 4], [2, 2, 2, 8], [9, 1, 9, 1, 9, 1, 1, 5]],
    ids=["all", "some of every shard", "one", "one shard", "duplicates", "more duplicates"],
)
def test_it_is_the_plain_variance_of_the_texts_asked_for(k, texts, store, passes) -> None:
    source = asked(store, texts, k)
    for name, p in passes.items():
        wanted = p[:k].astype(np.float64)[:, texts].var(axis=0, ddof=1).mean()
        assert source.pass_variance(name) == pytest.approx(wanted, rel=1e-9)


def test_a_duplicate_counts_twice(store: Store) -> None:
    calm, restless = (asked(store, [n], 8).pass_variance("loud") for n in (0, 9))
    assert asked(store, [0, 9, 9], 8).pass_variance("loud") == pytest.approx((calm + 2 * restless) / 3)
    assert restless > 2 * calm


@pytest.mark.parametrize("k", [0, 1])
def test_fewer_than_two_passes_have_no_variance(k: int, store: Store) -> None:
    assert asked(store, [0, 1], k).pass_variance("quiet") is None


def test_sums_alone_have_no_variance(passes: dict[str, np.ndarray], tmp_path: Path) -> None:
    assert asked(stored(tmp_path / "k", passes, single=False), [0, 9], 8).pass_variance("quiet") is None


def test_no_texts_have_no_variance(store: Store) -> None:
    assert asked(store, [], 8).pass_variance("quiet") is None


@pytest.fixture(scope="module")
def sweep(billing: HuggingFaceInfo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty texts in three shards, eight passes."""
    swept(where := tmp_path_factory.mktemp("sweep") / "k", [billing], passes=8)
    return where


def test_the_variance_of_a_real_sweep(sweep: Path) -> None:
    store = Store(sweep)
    single = [
        torch.cat([store.load(passes_unit("billing", s, start))["per_pass"] for s in store.shards()], 1)
        for start in (0, 4)
    ]
    picks = [39, 0, 17, 0]
    wanted = torch.cat(single)[:6, picks].numpy().astype(np.float64).var(axis=0, ddof=1).mean()
    found = read(store, ["billing"], [SENTENCES[i] for i in picks], passes=6).pass_variance("billing")
    assert found == pytest.approx(wanted, rel=1e-9)
    assert found > 1e-6


def test_seconds_are_those_of_all_receipts(sweep: Path) -> None:
    kept = [json.loads(path.read_text())["seconds"] for path in (sweep / "teachers" / "billing").glob("*/*.json")]
    assert len(kept) == 9
    assert Store(sweep).seconds("billing") == pytest.approx(sum(kept))
    assert sum(kept) > 0


def test_only_the_teachers_own_units_take_time(tmp_path: Path) -> None:
    store = Store(tmp_path / "k")
    assert store.seconds("nobody") == 0
    unit = {"logits": torch.zeros(1, 2)}
    store.record_note("x", "fingerprint-0", {"seconds": 1000.0})
    store.save(logits_unit("x", "00000-a"), unit, seconds=1.5)
    store.save(logits_unit("x", "00012-b"), unit, seconds=0.25)
    store.save(passes_unit("x", "00000-a", 4), unit, seconds=4.0)
    store.save(logits_unit("x", "00001-c"), unit)  # which does not say
    store.save(logits_unit("xy", "00000-a"), unit, seconds=64.0)
    assert store.seconds("x") == 5.75
    assert isinstance(store.seconds("nobody"), float)
