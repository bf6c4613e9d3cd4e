"""A tensor that is written piece by piece and read row by row."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.knowledge.store import cached_rows as module
from alloykit.knowledge.store.cached_rows import KEY, cached_rows

ALL = torch.arange(7)
WANTED = torch.arange(35, dtype=torch.float16).reshape(7, 5)


class Compute:
    """Gives the rows in pieces, and counts how often it is asked."""

    def __init__(self, rows: Tensor = WANTED) -> None:
        self.rows, self.asked = rows, 0

    def __call__(self) -> Iterator[Tensor]:
        self.asked += 1
        yield from self.rows.float().split(3)


def test_rows_are_written_once_and_found_again(tmp_path: Path) -> None:
    path, compute = tmp_path / "rows.safetensors", Compute()
    for _ in range(2):
        assert torch.equal(cached_rows(path, {"texts": Path("a")}, (7, 5), compute)[ALL], WANTED)
    assert compute.asked == 1
    assert torch.equal(load_file(path)[KEY], WANTED), "a safetensors file that others can read"
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0, "and map, so that its numbers are at even places"
    cached_rows(path, {"texts": "b"}, (7, 5), compute)
    assert compute.asked == 2, "made of something else"
    assert [p.name for p in tmp_path.iterdir()] == ["rows.safetensors"]


def test_inputs_in_another_order_are_the_same_and_another_shape_is_not(tmp_path: Path) -> None:
    path, compute = tmp_path / "rows.safetensors", Compute()
    for made_of in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
        cached_rows(path, made_of, (7, 5), compute)
    assert compute.asked == 1
    turned = WANTED.reshape(5, 7)
    assert torch.equal(cached_rows(path, {"a": 1, "b": 2}, (5, 7), Compute(turned))[ALL[:5]], turned)
    assert load_file(path)[KEY].shape == (5, 7)


def test_some_rows_in_any_order_also_in_another_process(tmp_path: Path) -> None:
    rows = cached_rows(tmp_path / "rows.safetensors", {}, (7, 5), Compute())
    for at in ([3, 0, 3], [6], []):
        for mine in (rows, pickle.loads(pickle.dumps(rows))):
            assert torch.equal(mine[torch.tensor(at, dtype=torch.int64)], WANTED[at])
    assert len(pickle.dumps(rows)) < 1000, "a path, not the rows"


@pytest.mark.parametrize("damage", ["byte", "end", "header", "empty"])
def test_a_damaged_file_is_computed_again(tmp_path: Path, damage: str) -> None:
    path, compute = tmp_path / "rows.safetensors", Compute()
    cached_rows(path, {}, (7, 5), compute)
    data = bytearray(path.read_bytes())
    if damage == "byte":
        data[-3] ^= 1
    elif damage == "header":
        data[12] ^= 1
    path.write_bytes({"end": data[:-4], "empty": b""}.get(damage, data))
    assert torch.equal(cached_rows(path, {}, (7, 5), compute)[ALL], WANTED)
    assert compute.asked == 2


@pytest.mark.parametrize("rows", [6, 8])
def test_another_number_of_rows_is_an_error_and_leaves_no_file(tmp_path: Path, rows: int) -> None:
    with pytest.raises(AlloyError, match=f"{rows} rows"):
        cached_rows(tmp_path / "rows.safetensors", {}, (rows, 5), Compute())
    assert not list(tmp_path.iterdir())


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.safetensors").mkdir()
    with pytest.raises(AlloyError, match="rows.safetensors"):
        cached_rows(tmp_path / "rows.safetensors", {}, (7, 5), Compute())


def test_a_file_of_another_number_format_is_computed_again(tmp_path: Path) -> None:
    path, other = tmp_path / "rows.safetensors", WANTED.float() + 1
    about = {"made_of": "{}", "sha256": hashlib.sha256(other.numpy().tobytes()).hexdigest()}
    save_file({KEY: other}, path, about)
    assert torch.equal(cached_rows(path, {}, (7, 5), Compute())[ALL], WANTED)


def test_a_file_that_is_cut_or_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.safetensors"
    rows = cached_rows(path, {}, (7, 5), Compute())
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(AlloyError, match=r"rows.safetensors; got 'the file ends at byte"):
        rows[ALL]
    path.unlink()
    with pytest.raises(AlloyError, match=r"rows.safetensors or the folder"):
        pickle.loads(pickle.dumps(rows))
    monkeypatch.setattr(module, "replace_atomic", lambda *_: None)  # another process removes it at once
    with pytest.raises(AlloyError, match=r"rows.safetensors as it was written"):
        cached_rows(path, {}, (7, 5), Compute())
