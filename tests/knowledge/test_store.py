"""The store only ever grows, and refuses knowledge that something else made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from knowing import SENTENCES, arrays, direct, files, ids, info, read, swept, table, untouched
from some_quick import some_quick

from alloykit.data import load_texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.teachers import hugging_face
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.teachers.model_fingerprints import model_fingerprints

MORE = tiny.texts(25, seed=5)


def test_a_second_sweep_writes_nothing(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing])
    before = files(tmp_path)
    swept(tmp_path, [billing])
    assert untouched(before, tmp_path) == []


def test_a_finished_sweep_does_not_load_the_teacher_again(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder's files say that it is the same; a teacher of other files is loaded, and refused."""
    swept(tmp_path / "k", [billing])
    loaded, load = list[str](), HuggingFaceInfo.load
    monkeypatch.setattr(HuggingFaceInfo, "load", lambda i, reading: loaded.append(i.name) or load(i, reading))
    swept(tmp_path / "k", [billing])
    assert loaded == []
    swept(tmp_path / "k", [billing], MORE)
    assert loaded == ["billing"], "there is something to read"
    swept(tmp_path / "k", [billing], passes=0)
    swept(tmp_path / "k", [billing], passes=0)
    assert loaded == ["billing"] * 2, "read in another way it is compared once more"
    with pytest.raises(AlloyError, match="weights"):
        swept(tmp_path / "k", [other_teacher(tmp_path / "other", "weights")])
    for name in ("teacher.json", "sampling.json"):  # as if another teacher's sweep had begun, and nothing was made
        path = tmp_path / "k" / "teachers" / "billing" / name
        path.write_text(json.dumps(json.loads(path.read_text()) | {"weights": 64 * "0"}))
    with pytest.raises(AlloyError, match="weights"):
        swept(tmp_path / "k", [billing])


def test_new_texts_add_shards(billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path) -> None:
    swept(tmp_path, [billing])
    before = files(tmp_path)
    both = [*MORE, *SENTENCES[::-1]]
    store = swept(tmp_path, [billing], both)
    new = untouched(before, tmp_path)
    assert [len(shard) for shard in store.shards().values()] == [16, 16, 8, 16, 9]
    assert all("/00003-" in name or "/00004-" in name for name in new)
    assert len(new) == 2 * 2 * 3  # two shards; ids, logits and passes, each with its receipt
    logits = read(store, ["billing"], both).rows(range(65)).teachers[0].logits
    torch.testing.assert_close(logits, direct(models["billing"], both), rtol=1e-4, atol=1e-5)


def test_only_the_new_texts_need_to_be_given(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing])
    before = files(tmp_path)
    store = swept(tmp_path, [billing], MORE)
    assert len(untouched(before, tmp_path)) == 12
    assert len(read(store, ["billing"], [*SENTENCES, *MORE])) == 65


def test_a_new_teacher_adds_a_folder(billing: HuggingFaceInfo, delivery: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing])
    before = files(tmp_path)
    swept(tmp_path, [billing, delivery])
    new = untouched(before, tmp_path)
    assert {name.split("/")[1] for name in new} == {"delivery"}
    assert (
        len(new) == 3 + 3 * 2 * 2
    )  # teacher.json, sampling.json, fingerprint-….json; three shards of logits and passes with receipts


def test_more_passes_add_chunks_and_fewer_read_the_first(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing], passes=4)
    before = files(tmp_path)
    swept(tmp_path, [billing], passes=7)
    new = untouched(before, tmp_path)
    assert len(new) == 3 * 2
    assert all(".passes-0004." in name for name in new)
    after = files(tmp_path)
    swept(tmp_path, [billing], passes=2)
    assert untouched(after, tmp_path) == []


def test_passes_may_come_after_the_logits(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path / "a", [billing], passes=0)
    swept(tmp_path / "a", [billing], passes=4)
    swept(tmp_path / "b", [billing], passes=4)
    assert arrays(tmp_path / "a") == arrays(tmp_path / "b")


@pytest.mark.slow
def test_the_same_sweep_gives_the_same_bytes_and_another_seed_others(
    billing: HuggingFaceInfo, delivery: HuggingFaceInfo, tmp_path: Path
) -> None:
    swept(tmp_path / "a", [billing, delivery])
    torch.manual_seed(99)
    torch.rand(5)  # whatever the process did before
    swept(tmp_path / "b", [delivery, billing])
    swept(tmp_path / "c", [billing, delivery], seed=1)
    a, b, c = (arrays(tmp_path / name) for name in "abc")
    assert a == b
    assert {n for n in a if a[n] != c[n]} == {n for n in a if "passes" in n}


def other_teacher(folder: Path, what: str) -> HuggingFaceInfo:
    """`billing` again, but with one thing changed."""
    tiny.classifier(folder, ("refund", "charge", "invoice"), "bert", seed=2 if what == "weights" else 1)
    if what == "tokenizer":
        path = folder / "tokenizer.json"
        definition = json.loads(path.read_text())
        definition["normalizer"] = None
        path.write_text(json.dumps(definition))
    if what == "config":
        change(folder / "config.json", num_attention_heads=1)
    if what == "tokenizer_settings":
        change(folder / "tokenizer_config.json", truncation_side="left")
    return info(folder, "billing")


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    "what", some_quick(["weights", "tokenizer", "config", "tokenizer_settings"], "config", "tokenizer_settings")
)
def test_another_teacher_of_the_same_name_is_refused(what: str, billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path / "k", [billing])
    before = files(tmp_path / "k")
    with pytest.raises(
        AlloyError, match=rf"teacher 'billing' made with {what} = .*; got {what} = .* in .*k\. They were"
    ):
        swept(tmp_path / "k", [other_teacher(tmp_path / "other", what)])
    assert untouched(before, tmp_path / "k") == []


def test_names_and_versions_do_not_make_another_teacher(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path / "k", [billing])
    before = files(tmp_path / "k")
    same = tmp_path / "same"
    other_teacher(same, "nothing")
    known = json.loads((same / "config.json").read_text())["hidden_act"]
    names = {"0": "money back", "1": "fee", "2": "bill"}
    change(same / "config.json", transformers_version="9.9", id2label=names, alloykit_temperature=2.0, hidden_act=known)
    swept(tmp_path / "k", [info(same, "billing")])
    assert [name.rsplit("/", 1)[1][:11] for name in untouched(before, tmp_path / "k")] == ["fingerprint"]


def test_outputs_of_an_earlier_version_stay_valid(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did not record the configuration."""
    with monkeypatch.context() as patch:
        earlier = {"config", "tokenizer_settings"}
        patch.setattr(
            hugging_face,
            "model_fingerprints",
            lambda *of: {k: v for k, v in model_fingerprints(*of).items() if k not in earlier},
        )
        swept(tmp_path, [billing], SENTENCES[:16])
    before = files(tmp_path)
    again = swept(tmp_path, [billing])
    untouched(before, tmp_path)
    assert len(read(again, ["billing"], passes=4).rows(range(40)).teachers[0].logits) == 40


SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"seed": 3}, "seed = 3; got seed = 0"),
    "dropout": ({"dropout": 0.3}, "dropout = 0.3; got dropout = None"),
    "max_length": ({"max_length": 16}, "max_length = 16; got max_length = 32"),
    "tokens_per_batch": ({"tokens_per_batch": 128}, "tokens_per_batch = 128; got tokens_per_batch = 256"),
}


@pytest.mark.parametrize("field", some_quick(SETTINGS, "dropout", "max_length"))
def test_another_setting_is_refused(field: str, billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing])
    before = files(tmp_path)
    change, words = SETTINGS[field]
    with pytest.raises(AlloyError, match=words):
        swept(tmp_path, [billing], passes=8, **change)
    assert untouched(before, tmp_path) == []


def test_another_sampler_is_refused(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    from alloykit.knowledge.sweep.sweep import sweep
    from alloykit.teachers.mc_dropout import StockDropout

    class Other(StockDropout):
        name = "other"

    store = swept(tmp_path, [billing])
    from knowing import OPTIONS

    with pytest.raises(AlloyError, match="sampler = other; got sampler = "):
        sweep([billing], table(SENTENCES), store, OPTIONS, sampler=Other())


def test_a_setting_of_the_passes_does_not_matter_without_them(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing], passes=4)
    before = files(tmp_path)
    swept(tmp_path, [billing], passes=0, seed=3, dropout=None)
    [noted] = untouched(before, tmp_path)
    assert noted.startswith("teachers/billing/fingerprint-")


def test_another_salt_is_refused(billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALT", "pepper")
    salted = load_texts(SENTENCES, salt_env="SALT")
    assert not set(salted.table["id"]) & set(ids(SENTENCES))
    store = Store(tmp_path, salt="pepper")
    assert "pepper" not in (tmp_path / "manifest.json").read_text()
    store.add(salted.table["id"])
    for salt in ("", "sugar"):
        with pytest.raises(AlloyError, match="the store made with salt = "):
            Store(tmp_path, salt=salt)
    assert [len(shard) for shard in Store(tmp_path, salt="pepper").shards().values()] == [40]


def test_another_format_is_refused(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    Store(tmp_path)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(AlloyError, match="format 4 in .*; got format 99, of another version"):
        Store(tmp_path)


def test_files_of_shards_are_spread_over_sixteen_folders(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing], passes=0, shard_rows=1)
    for folder in (tmp_path / "shards", tmp_path / "teachers" / "billing"):
        places = [path.parent for path in folder.rglob("0*.json")]
        assert len(places) == len(SENTENCES)
        assert {place.parent for place in places} == {folder}
        assert 8 < len(set(places)) <= 16


def test_rows_per_shard_are_decided_once(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing], shard_rows=16)
    before = files(tmp_path)
    swept(tmp_path, [billing], shard_rows=7)
    assert untouched(before, tmp_path) == []


@pytest.mark.slow
def test_a_store_in_memory_through_fsspec(
    billing: HuggingFaceInfo, delivery: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path
) -> None:
    import fsspec

    url = "memory://knowledge-of-a-test"
    memory = fsspec.filesystem("memory")
    memory.rm("/knowledge-of-a-test", recursive=True) if memory.exists("/knowledge-of-a-test") else None
    swept(url, [billing])
    first = {name: memory.cat_file(name) for name in memory.find("/knowledge-of-a-test")}
    swept(url, [billing, delivery], [*SENTENCES, *MORE], passes=8)
    after = {name: memory.cat_file(name) for name in memory.find("/knowledge-of-a-test")}
    assert {name: after[name] for name in first} == first
    assert not [name for name in after if "tmp" in name]
    swept(tmp_path / "disk", [billing, delivery], [*SENTENCES, *MORE], shard_rows=16)
    reopened = Store(url)
    rows = read(reopened, ["billing", "delivery"], [*MORE, SENTENCES[3]], passes=8).rows([25, 0, 24])
    expected = direct(models["delivery"], [SENTENCES[3], MORE[0], MORE[24]])
    torch.testing.assert_close(rows.teachers[1].logits, expected, rtol=1e-4, atol=1e-5)
    assert rows.teachers[0].passes.tolist() == [8, 8, 8]


@pytest.mark.parametrize("name", ["run::1", "zip::1", "100%", "a#b?c*[d]", "file:x", "~x"])
def test_a_local_folder_may_have_any_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path / name, name):
        Store(place)
        assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")] == [f"{name}/manifest.json"]
