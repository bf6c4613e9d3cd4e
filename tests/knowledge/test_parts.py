"""A sweep in parts, on several machines in any order, is the same sweep; and how texts become batches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knowing import arrays, files, read, swept

from alloykit.errors import AlloyError
from alloykit.knowledge.sweep.pending import PendingShard
from alloykit.models.batches import token_batches
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.teachers.mc_dropout import key


@pytest.fixture(scope="module")
def single(billing: HuggingFaceInfo, delivery: HuggingFaceInfo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("single")
    swept(folder, [billing, delivery], shard_rows=6)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_parts_in_any_order_are_the_single_sweep(
    order: tuple[int, ...], single: Path, billing: HuggingFaceInfo, delivery: HuggingFaceInfo, tmp_path: Path
) -> None:
    for i in order:
        before = files(tmp_path)
        store = swept(tmp_path, [billing, delivery], shard_rows=6, part=(i, 3))
        new = [
            n for n in set(files(tmp_path)) - set(before) if n.endswith(".safetensors") and not n.startswith("shards/")
        ]
        assert {int(n.split("/")[-1][:5]) % 3 for n in new} == {i}
        assert {n: c for n, c in files(tmp_path).items() if n in before} == before
        if i != order[-1]:
            with pytest.raises(AlloyError, match="missing.*alloykit sweep"):
                read(store, ["billing", "delivery"], passes=4)
    assert arrays(tmp_path) == arrays(single)
    assert len(read(store, ["billing", "delivery"], passes=4)) == 40


@pytest.mark.slow
def test_more_parts_than_shards(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path / "single", [billing])  # 40 texts in shards of 16 are 3 shards
    for i in range(4):
        swept(tmp_path / "parts", [billing], part=(i, 4))
    assert arrays(tmp_path / "parts") == arrays(tmp_path / "single")


def test_the_same_part_twice_writes_nothing(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing], shard_rows=6, part=(1, 3))
    before = files(tmp_path)
    swept(tmp_path, [billing], shard_rows=6, part=(1, 3))
    assert files(tmp_path) == before


@given(st.lists(st.integers(0, 600), max_size=60), st.integers(1, 2000))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = token_batches(lengths, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(batches)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget
    in_order = [lengths[i] for batch in batches for i in batch]
    assert in_order == sorted(lengths, reverse=True), "the longest come first"
    assert batches == token_batches(list(lengths), budget)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 400))
def test_no_batch_could_take_the_next_text(lengths: list[int], budget: int) -> None:
    batches = token_batches(lengths, budget)
    for batch in batches[:-1]:
        assert (len(batch) + 1) * lengths[batch[0]] > budget


def test_texts_of_equal_length_keep_their_order() -> None:
    assert token_batches([5, 9, 5, 9, 5], 18) == [[1, 3], [0, 2, 4]]
    assert token_batches([], 10) == []
    assert token_batches([1000, 1], 10) == [[0], [1]]


def test_randomness_is_keyed_by_all_that_names_a_unit() -> None:
    units = [(s, t, shard, chunk) for s in (0, 1) for t in ("a", "b") for shard in ("0", "1", "11") for chunk in (0, 4)]
    keys = [key(*unit) for unit in units]
    assert len(set(keys)) == len(units)
    assert all(0 <= k < 2**63 for k in keys)
    assert key(0, "billing", 3, 4) == key(0, "billing", 3, 4)


@pytest.mark.parametrize(
    ("kinds", "reads"),
    [
        ([], 0),
        (["logits"], 10),
        (["pooled-02"], 10),
        (["logits", "pooled-02", "pooled-04"], 10),
        (["passes-0004"], 40),
        (["logits", "passes-0000", "passes-0004"], 90),
    ],
)
def test_how_often_the_texts_of_a_shard_are_read(kinds: list[str], reads: int) -> None:
    """One pass without dropout gives logits and states; a file of passes has four."""
    units = [f"teachers/a.b/5/00000-5f2c.{kind}" for kind in kinds]
    assert PendingShard("00000-5f2c", 10, units).reads == reads
