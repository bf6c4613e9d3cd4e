"""Corrupt files, missing receipts, full disks: named, never read, and mended by running again."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tiny
import torch
from knowing import SENTENCES, arrays, files, info, read, shard, swept

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import place_of
from alloykit.knowledge.sweep.pending import bytes_needed
from alloykit.teachers.hugging_face import HuggingFaceInfo

UNITS = ("logits", "passes-0000")


@pytest.fixture(scope="module")
def whole(billing: HuggingFaceInfo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "k"
    swept(folder, [billing])
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "k", copy_function=shutil.copy2)
    return tmp_path / "k"


def place(folder: Path, number: int) -> str:
    """Folder and name of the n-th shard's files."""
    return place_of(shard(folder, number))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [flip, cut, empty])
@pytest.mark.parametrize("unit", UNITS)
def test_a_corrupt_file_is_named_and_repaired_alone(
    unit: str, damage: Any, copy: Path, whole: Path, billing: HuggingFaceInfo
) -> None:
    unit = f"{place(copy, 1)}.{unit}"
    path = copy / "teachers" / "billing" / f"{unit}.safetensors"
    damage(path)
    with pytest.raises(
        AlloyError, match=rf"billing/{unit}.safetensors.*corrupt.*Delete {copy}/teachers/billing/{unit}.json"
    ):
        read(Store(copy), ["billing"], passes=4).rows([20])
    (copy / "teachers" / "billing" / f"{unit}.json").unlink()
    before = files(copy)
    swept(copy, [billing])
    changed = {name for name, now in files(copy).items() if before.get(name) != now}
    assert changed == {f"teachers/billing/{unit}.safetensors", f"teachers/billing/{unit}.json"}
    assert arrays(copy) == arrays(whole)


def test_a_healthy_part_is_read_although_another_is_corrupt(copy: Path) -> None:
    flip(copy / "teachers" / "billing" / f"{place(copy, 1)}.logits.safetensors")
    store, healthy = Store(copy), [SENTENCES[0], SENTENCES[39]]
    assert read(store, ["billing"], healthy).rows([0, 1]).teachers[0].logits.shape == (2, 3)
    with pytest.raises(AlloyError, match=r"/00001-.*logits"):
        read(store, ["billing"]).rows([0])


@pytest.mark.parametrize("gone", [".json", ".safetensors"])
def test_half_a_unit_does_not_count(gone: str, copy: Path, whole: Path, billing: HuggingFaceInfo) -> None:
    (copy / "teachers" / "billing" / f"{place(copy, 2)}.passes-0000{gone}").unlink()
    with pytest.raises(AlloyError, match=r"/00002-.*passes-0000 missing"):
        read(Store(copy), ["billing"], passes=4)
    swept(copy, [billing])
    assert arrays(copy) == arrays(whole)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_receipt_is_named(content: str, copy: Path) -> None:
    receipt = copy / "teachers" / "billing" / f"{place(copy, 0)}.logits.json"
    receipt.write_text(content)
    with pytest.raises(AlloyError, match=r"/00000-.*logits.json"):
        read(Store(copy), ["billing"]).rows([0])


def test_a_crash_between_the_ids_of_a_shard_and_their_receipt(
    copy: Path, whole: Path, billing: HuggingFaceInfo
) -> None:
    """The process died in `add`: no teacher has answered these rows yet."""
    (copy / "shards" / f"{place(copy, 2)}.json").unlink()
    for path in copy.glob("teachers/billing/*/00002-*"):
        path.unlink()
    swept(copy, [billing])
    assert arrays(copy) == arrays(whole)


def test_corrupt_ids_are_named_and_never_read(copy: Path) -> None:
    flip(copy / "shards" / f"{place(copy, 1)}.safetensors")
    with pytest.raises(AlloyError, match=r"shards/./00001-.*safetensors.*corrupt"):
        read(Store(copy), ["billing"])


def test_what_the_message_about_corrupt_ids_says_helps(copy: Path, whole: Path, billing: HuggingFaceInfo) -> None:
    """Only this shard is computed again, under another number, and what a service was paid for stays."""
    name = place(copy, 1)
    flip(copy / "shards" / f"{name}.safetensors")
    with pytest.raises(AlloyError, match=f"Delete {copy}/shards/{name}.json and run again"):
        swept(copy, [billing])
    (copy / "shards" / f"{name}.json").unlink()
    before = files(copy)
    swept(copy, [billing])
    assert {path: content for path, content in files(copy).items() if path in before} == before
    now, then = (read(Store(folder), ["billing"], passes=4).rows(range(len(SENTENCES))) for folder in (copy, whole))
    assert torch.equal(now.teachers[0].logits, then.teachers[0].logits)
    assert torch.equal(now.teachers[0].probability_sum, then.teachers[0].probability_sum)


class Full:
    """From the n-th call on, there is no space left on the device."""

    def __init__(self, n: int, real: Any) -> None:
        self.left, self.real, self.hit = n, real, False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            self.hit = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.real(*args, **kwargs)


class Outcome(NamedTuple):
    error: Exception | None
    reached: bool


def sweep_on_a_full_disk(folder: Path, teacher: HuggingFaceInfo, function: str, n: int) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        full = Full(n, getattr(os, function))
        patch.setattr(os, function, full)
        try:
            swept(folder, [teacher], SENTENCES[:20], passes=0)
        except Exception as error:
            return Outcome(error, full.hit)
    return Outcome(None, full.hit)


@pytest.mark.slow
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_disk_that_is_full_at_any_write(function: str, billing: HuggingFaceInfo, tmp_path: Path) -> None:
    """One message, nothing half-written, everything that was finished still valid, and the next run completes it."""
    swept(tmp_path / "whole", [billing], SENTENCES[:20], passes=0)
    expected = arrays(tmp_path / "whole")
    for n in range(100):
        folder = tmp_path / str(n)
        outcome = sweep_on_a_full_disk(folder, billing, function, n)
        if not outcome.reached:
            break
        assert isinstance(outcome.error, AlloyError), f"at {function} number {n}: {outcome.error!r}"
        assert "No space left" in str(outcome.error)
        assert "room to write" in str(outcome.error)
        assert not [p for p in folder.rglob("*") if p.name.endswith(".tmp")], "a temporary file was left behind"
        for receipt in folder.rglob("*.json"):
            if "sha256" in json.loads(receipt.read_text()):
                Store(folder).load(str(receipt.relative_to(folder).with_suffix("")))
        if n % 4 == 0:
            swept(folder, [billing], SENTENCES[:20], passes=0)
            assert arrays(folder) == expected
    assert n >= 10, "every write of a sweep goes through here"


def test_too_little_space_is_refused_before_any_teacher_reads(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    needed = bytes_needed(40, [3], 4) - 16 * 40  # the ids are written by then
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=needed - 1))
    with pytest.raises(AlloyError, match=r"free space.*passes"):
        swept(tmp_path / "k", [billing])
    assert not any(name.startswith("teachers/") for name in arrays(tmp_path / "k"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=needed + 1))
    swept(tmp_path / "k", [billing])


def test_a_finished_sweep_needs_no_space(
    whole: Path, billing: HuggingFaceInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(whole)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=0))
    swept(whole, [billing])


def test_the_estimate_is_near_what_is_written(whole: Path) -> None:
    data = sum(len(content) for content in arrays(whole).values())
    headers = 7 * 3 * 100  # safetensors writes some hundred bytes before the arrays of a file
    assert bytes_needed(40, [3], 4) <= data <= bytes_needed(40, [3], 4) + headers + 1000


def test_passes_that_do_not_vary_are_refused_and_not_kept(tmp_path: Path) -> None:
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    still = info(tiny.classifier(tmp_path / "still", ("bug", "login"), **rates))
    with pytest.raises(AlloyError, match=r"teacher 'still'.*zero variance.*dropout: 0.1.*passes: 0"):
        swept(tmp_path / "k", [still])
    assert [name for name in arrays(tmp_path / "k") if "passes" in name] == []
    swept(tmp_path / "k", [still], passes=0)
    swept(tmp_path / "other", [still], dropout=0.1)
