"""Whatever lies in a store's place, it is refused in one message or computed anew: never read, never a traceback."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from knowing import SENTENCES, swept, table
from some_quick import some_quick

from alloykit.errors import AlloyError
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.teachers.hugging_face import HuggingFaceInfo

TEXTS, LAYERS = SENTENCES[:20], {"billing": (2,)}
Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def whole(billing: HuggingFaceInfo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    swept(folder := tmp_path_factory.mktemp("whole") / "k", [billing], TEXTS, layers=LAYERS)
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "k")
    return tmp_path / "k"


def everything(folder: Path) -> None:
    store = Store(folder)
    rows = StoredKnowledge(store, ["billing"], table(TEXTS).ids(), passes=4, layers=LAYERS).rows(range(20))
    assert rows.teachers[0].logits.isfinite().all()
    store.seconds("billing")


def one(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


MISSING = "missing"
VALUES: list[Any] = [MISSING, None, True, 0, -1, 1.5, "", "8", [], {"a": 1}, "0" * 64]
FIELDS = {
    "manifest.json": ("format", "shard_rows", "salt"),
    "shards/*/*.json": ("sha256", "bytes"),
    "teachers/billing/teacher.json": ("weights", "max_length", "compute_format", "classes", "width"),
    "teachers/billing/sampling.json": ("sampler", "seed", "tokens_per_batch"),
    "teachers/billing/*/*.logits.json": ("sha256", "bytes", "made_of", "seconds"),
    "teachers/billing/*/*.passes-0000.json": ("sha256", "made_of"),
}
QUICK = ("manifest.json", "teachers/billing/*/*.logits.json")
TENSORS = ("shards/*/*.safetensors", "teachers/billing/*/*.logits.safetensors")
HARMLESS: dict[str, list[Any]] = {"bytes": [0], "seconds": [0, 1.5, MISSING], "salt": [None, MISSING]}
"""Nothing depends on these."""


@pytest.mark.parametrize(("pattern", "field"), [(p, f) for p, fields in FIELDS.items() for f in fields])
def test_a_record_with_another_value(pattern: str, field: str, copy: Path) -> None:
    path = one(copy, pattern)
    record = json.loads(path.read_text())
    for value in VALUES:
        if any(value == other and type(value) is type(other) for other in [record[field], *HARMLESS.get(field, [])]):
            continue
        changed = {k: v for k, v in record.items() if k != field} if value == MISSING else record | {field: value}
        path.write_text(json.dumps(changed))
        with pytest.raises(AlloyError) as caught:
            everything(copy)
        assert path.stem in str(caught.value) or "recorded" in str(caught.value) or field in str(caught.value)
        assert len(str(caught.value)) < 700


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 5000, b'{"sha256": 1e999}'])
@pytest.mark.parametrize("pattern", some_quick(FIELDS, *QUICK))
def test_a_record_that_is_none(pattern: str, raw: bytes, copy: Path) -> None:
    path = one(copy, pattern)
    path.write_bytes(raw)
    with pytest.raises(AlloyError, match=path.name):
        everything(copy)


def in_all(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {name: change(t).contiguous() for name, t in tensors.items()}


WRONG: dict[str, Callable[[Tensors], Tensors]] = {
    "a row less": in_all(lambda t: t[:-1]),
    "a row more": in_all(lambda t: torch.cat([t, t[:1]])),
    "other width": in_all(lambda t: t[..., :-1] if t.ndim > 1 else t[None]),
    "other dtype": in_all(lambda t: t.to(torch.float64)),
    "turned": in_all(lambda t: t.mT if t.ndim > 1 else t[None]),
    "other name": lambda tensors: {f"{name}2": t for name, t in tensors.items()},
    "one more": lambda tensors: tensors | {"more": torch.zeros(1)},
    "nothing": lambda tensors: {},
    "not finite": in_all(lambda t: t / 0 if t.is_floating_point() else t + 1),
}


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize("kind", some_quick(["logits", "passes-0000", "pooled-02"], "logits"))
def test_a_valid_checksum_over_other_content(kind: str, how: str, copy: Path, billing: HuggingFaceInfo) -> None:
    path = one(copy, f"teachers/billing/*/*.{kind}.safetensors")
    sign(path, safetensors.torch.save(WRONG[how](safetensors.torch.load(path.read_bytes()))))
    with pytest.raises(AlloyError, match=rf"{path.stem}.safetensors with .*Delete .*{path.stem}.json") as caught:
        everything(copy)
    assert "; got " in str(caught.value)
    if how == "a row less":
        path.with_suffix(".json").unlink()  # as the message says
        swept(copy, [billing], TEXTS, layers=LAYERS)
        everything(copy)


@pytest.mark.parametrize("data", [b"", b"x" * 30, bytes(8)])
@pytest.mark.parametrize("pattern", TENSORS)
def test_a_valid_checksum_over_no_tensors(pattern: str, data: bytes, copy: Path) -> None:
    path = one(copy, pattern)
    sign(path, data)
    with pytest.raises(AlloyError, match=f"{path.stem}.safetensors with safetensors in it"):
        everything(copy)


def test_ids_of_another_shard(copy: Path) -> None:
    first, second = sorted(copy.glob("shards/*/*.safetensors"), key=lambda p: p.name)
    sign(second, first.read_bytes())
    with pytest.raises(AlloyError, match=rf"shards/./{second.stem}.safetensors with the ids of the texts"):
        everything(copy)


def test_answers_of_another_shard_of_the_same_size(copy: Path, billing: HuggingFaceInfo) -> None:
    """Nothing in the tensors tells whose they are; but they were not made here, so they have no valid receipt of this teacher."""
    swept(copy, [billing], SENTENCES[20:36], layers=LAYERS)
    path = one(copy, "teachers/billing/*/*.logits.safetensors")
    receipt = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(receipt | {"made_of": 64 * "0"}))
    with pytest.raises(AlloyError, match=r"made by the teacher that is recorded"):
        everything(copy)


@pytest.mark.parametrize("pattern", some_quick([*FIELDS, *TENSORS], *QUICK, *TENSORS))
@pytest.mark.parametrize("instead", ["folder", "link to nothing", "link to itself"])
def test_something_else_in_the_place_of_a_file(
    instead: str, pattern: str, copy: Path, billing: HuggingFaceInfo
) -> None:
    """What is no file does not count, and whether it can be replaced is said when it is."""
    path = one(copy, pattern)
    path.unlink()
    if instead == "folder":
        path.mkdir()
        (path / "mine").write_text("mine")
    else:
        path.symlink_to(path if "itself" in instead else path.parent / "nowhere")
    try:
        swept(copy, [billing], TEXTS, layers=LAYERS)
        everything(copy)
    except AlloyError as error:
        said = str(error)
    else:
        return
    assert "space" not in said
    assert any(word in said for word in ("folder is in the way", "link", "record")), said


def sign(path: Path, data: bytes) -> None:
    """Write data and a receipt that fits."""
    path.write_bytes(data)
    receipt = path.with_suffix(".json")
    about = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    receipt.write_text(json.dumps(json.loads(receipt.read_text()) | about))
