"""What is read back from the store is what the model says, in any order, and as often as a text occurs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from knowing import SENTENCES, direct, ids, read, shard, swept, table

from alloykit.errors import AlloyError
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import passes_unit
from alloykit.outputs import chunks
from alloykit.teachers.hugging_face import HuggingFaceInfo


@pytest.fixture(scope="module")
def store(billing: HuggingFaceInfo, delivery: HuggingFaceInfo, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """40 texts in three shards, two teachers, 8 passes. Read only."""
    return swept(tmp_path_factory.mktemp("store") / "k", [billing, delivery], passes=8)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "backward", "shuffled", "repeated"])
def test_logits_are_the_models_own_in_any_order(order: str, store: Store, models: dict[str, Path]) -> None:
    n = len(SENTENCES)
    picks = {
        "forward": list(range(n)),
        "backward": list(range(n))[::-1],
        "shuffled": torch.randperm(n, generator=torch.Generator().manual_seed(1)).tolist(),
        "repeated": [7, 33, 7, 0, 39, 33, 33],
    }[order]
    rows = read(store, ["billing", "delivery"]).rows(picks)
    for teacher, name in zip(rows.teachers, ("billing", "delivery"), strict=True):
        expected = direct(models[name], [SENTENCES[i] for i in picks])
        torch.testing.assert_close(teacher.logits, expected, rtol=1e-4, atol=1e-5)
        assert teacher.logits.dtype == torch.float32


def test_texts_in_another_order_and_only_some_of_them(store: Store, models: dict[str, Path]) -> None:
    texts = [SENTENCES[i] for i in (30, 2, 17, 2)]
    rows = read(store, ["delivery"], texts).rows([3, 0, 1, 2])
    expected = direct(models["delivery"], [texts[i] for i in (3, 0, 1, 2)])
    torch.testing.assert_close(rows.teachers[0].logits, expected, rtol=1e-4, atol=1e-5)


def test_a_repeated_text_has_one_row_and_keeps_its_multiplicity(
    billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path
) -> None:
    texts = [SENTENCES[0], SENTENCES[1], SENTENCES[0], SENTENCES[0], SENTENCES[2], SENTENCES[1]]
    store = swept(tmp_path / "k", [billing], texts)
    assert [len(shard) for shard in store.shards().values()] == [3]
    source = read(store, ["billing"], texts)
    assert len(source) == 6
    [rows] = list(chunks(source))
    torch.testing.assert_close(rows.teachers[0].logits, direct(models["billing"], texts), rtol=1e-4, atol=1e-5)
    assert torch.equal(rows.teachers[0].logits[0], rows.teachers[0].logits[3])


def test_pairs_are_read_as_pairs(billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path) -> None:
    pairs = list(zip(SENTENCES[:12], SENTENCES[12:24], strict=True)) + [(SENTENCES[0], ""), (SENTENCES[0], "again")]
    store = swept(tmp_path / "k", [billing], pairs)
    logits = read(store, ["billing"], pairs).rows(range(14)).teachers[0].logits
    expected = direct(models["billing"], [p[0] for p in pairs], [p[1] for p in pairs])
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)
    assert len(set(ids(pairs)) | set(ids(SENTENCES))) == 14 + 40


def test_a_text_without_a_pair_is_read_alone_whoever_its_neighbours_are(
    billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path
) -> None:
    pairs = [(SENTENCES[0], None), (SENTENCES[1], "again"), (SENTENCES[2], None), (SENTENCES[3], None)]
    store = swept(tmp_path / "k", [billing], pairs, shard_rows=2)  # the second shard has no pair at all
    logits = read(store, ["billing"], pairs).rows(range(4)).teachers[0].logits
    expected = direct(models["billing"], [p[0] for p in pairs], [p[1] for p in pairs])
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("passes", [1, 3, 4, 6, 7, 8])
def test_the_first_k_passes_are_summed(passes: int, store: Store) -> None:
    order = [39, 0, 16, 15, 16, 31]
    found = read(store, ["billing", "delivery"], passes=passes).rows(order)
    for name, teacher in zip(("billing", "delivery"), found.teachers, strict=True):
        kept = [
            torch.cat([store.load(passes_unit(name, s, start))["per_pass"] for s in store.shards()], dim=1)
            for start in (0, 4)
        ]
        single = torch.cat(kept)[:, order]  # [8, B, C_i]: rows of the shards lie in the order of the texts
        torch.testing.assert_close(single.sum(-1), torch.ones(8, 6))
        torch.testing.assert_close(teacher.probability_sum, single[:passes].sum(0))
        assert teacher.passes is not None
        assert teacher.passes.tolist() == [passes] * 6
        torch.testing.assert_close(teacher.mean_probabilities().sum(-1), torch.ones(6))


def test_stored_sums_are_the_sums_of_the_stored_passes(store: Store) -> None:
    for unit in (passes_unit("billing", shard(store, 0), 0), passes_unit("delivery", shard(store, 2), 4)):
        kept = store.load(unit)
        torch.testing.assert_close(kept["probability_sum"], kept["per_pass"].sum(0))
        assert kept["passes"].tolist() == [4] * kept["per_pass"].shape[1]
        assert len({tuple(p.flatten().tolist()) for p in kept["per_pass"]}) == 4, "every pass has masks of its own"


def test_chunks_of_passes_differ_from_each_other(store: Store) -> None:
    first, second = (store.load(passes_unit("billing", shard(store, 0), start))["per_pass"] for start in (0, 4))
    assert not torch.allclose(first, second)


def test_without_passes_none_are_given(store: Store) -> None:
    [teacher] = read(store, ["billing"]).rows([0]).teachers
    assert teacher.probability_sum is None
    assert teacher.passes is None


def test_labels_travel_with_their_texts(store: Store) -> None:
    labels = torch.arange(40)
    source = StoredKnowledge(store, ["billing"], ids(SENTENCES), labels=labels)
    assert source.rows([5, 39, 5]).labels.tolist() == [5, 39, 5]


def test_what_is_missing_is_named(store: Store, billing: HuggingFaceInfo) -> None:
    with pytest.raises(AlloyError, match=r"1 of 2 texts missing.*alloykit sweep"):
        read(store, ["billing"], [SENTENCES[0], "never swept"])
    with pytest.raises(AlloyError, match=r"billing/./00000-[0-9a-f]{12}.passes-0008 missing"):
        read(store, ["billing"], passes=12)
    with pytest.raises(AlloyError, match=r"account/./00000-[0-9a-f]{12}.logits missing"):
        read(store, ["account"])


def test_a_smaller_k_needs_single_passes(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above so many classes only sums are kept, and a message says which numbers of passes there are."""
    monkeypatch.setattr("alloykit.knowledge.store.units.PER_PASS_CLASSES", 2)
    store = swept(tmp_path / "k", [billing], SENTENCES[:5], passes=8)
    assert "per_pass" not in store.load(passes_unit("billing", shard(store, 0), 0))
    assert read(store, ["billing"], SENTENCES[:5], passes=8).rows([0]).teachers[0].passes.tolist() == [8]
    with pytest.raises(AlloyError, match=r"multiple of 4.*got 6.*4 or 8"):
        read(store, ["billing"], SENTENCES[:5], passes=6).rows([0])


@pytest.mark.parametrize("passes", [1, 6])
def test_any_number_of_passes_of_a_teacher_with_many_classes(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    """Also K = 1, MUKA's "w/o Monte-Carlo Dropout"."""
    texts = SENTENCES[:5]
    expected = read(swept(tmp_path / "few", [billing], texts, passes=passes), ["billing"], texts, passes=passes)
    monkeypatch.setattr("alloykit.knowledge.store.units.PER_PASS_CLASSES", 2)
    found = read(swept(tmp_path / "many", [billing], texts, passes=passes), ["billing"], texts, passes=passes)
    [wanted], [teacher] = expected.rows(range(5)).teachers, found.rows(range(5)).teachers
    assert torch.equal(teacher.probability_sum, wanted.probability_sum)
    assert teacher.passes.tolist() == [passes] * 5


def test_the_table_and_the_store_agree_on_ids(store: Store) -> None:
    assert [bytes(row).hex() for shard in store.shards().values() for row in shard] == list(
        table(SENTENCES).table["id"]
    )
