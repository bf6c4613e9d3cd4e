"""Texts that a store knows in part, beside others that are not at hand now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from knowing import OPTIONS, SENTENCES, direct, files, read, swept, table, untouched

from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.teachers import hugging_face
from alloykit.teachers.hugging_face import HuggingFaceInfo

OLD, NEW = SENTENCES[:24], SENTENCES[20:]  # four in common, half of the old ones' second shard
LAYERS = {"billing": (2,)}


def right(store: Store, models: dict[str, Path], texts: list[str]) -> None:
    expected = direct(models["billing"], texts)
    torch.testing.assert_close(read(store, ["billing"], texts).rows(range(len(texts))).teachers[0].logits, expected)


@pytest.mark.parametrize("more", [{"layers": LAYERS}, {"passes": 8}])
def test_known_texts_of_which_more_is_asked_are_read_again(
    billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path, more: dict[str, Any]
) -> None:
    swept(tmp_path, [billing], OLD, passes=0)
    before = files(tmp_path)
    store = swept(tmp_path, [billing], NEW, **more)
    assert [len(shard) for shard in store.shards().values()] == [16, 8, 16, 4]
    untouched({name: old for name, old in before.items() if "shards/" in name}, tmp_path)
    right(store, models, NEW)
    right(store, models, OLD)
    made = files(tmp_path)
    swept(tmp_path, [billing], NEW, **more)
    swept(tmp_path, [billing], OLD, passes=0)
    assert untouched(made, tmp_path) == []


def test_their_states_are_the_models_own(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path / "k", [billing], OLD)
    store = swept(tmp_path / "k", [billing], NEW, layers=LAYERS)
    fresh = swept(tmp_path / "fresh", [billing], NEW, layers=LAYERS)
    found, expected = (
        StoredKnowledge(s, ["billing"], table(NEW).ids(), layers=LAYERS).rows(range(len(NEW))).teachers[0].pooled_states
        for s in (store, fresh)
    )
    assert found is not None
    assert expected is not None
    torch.testing.assert_close(found[0], expected[0], rtol=2e-3, atol=2e-3)


def test_known_texts_of_which_nothing_lacks_are_not_read_again(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing], OLD)
    store = swept(tmp_path, [billing], NEW)
    assert [len(shard) for shard in store.shards().values()] == [16, 8, 16]


def test_a_sweep_whose_texts_changed_midway_goes_on_with_those_that_are_left(
    billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path
) -> None:
    store = Store(tmp_path, shard_rows=16)
    store.add(table(OLD[:16]).table["id"])
    sweep([billing], table(OLD[:10]), store, OPTIONS)
    assert [len(shard) for shard in store.shards().values()] == [16, 10]
    right(store, models, OLD[:10])


def test_killed_meanwhile_no_text_gets_a_third_row(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept(tmp_path, [billing], OLD, passes=0)
    with monkeypatch.context() as broken:
        broken.setattr(hugging_face, "plain_and_pooled", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            swept(tmp_path, [billing], NEW, layers=LAYERS)
    store = swept(tmp_path, [billing], NEW, layers=LAYERS)
    assert [len(shard) for shard in store.shards().values()] == [16, 8, 16, 4]
