"""Rows of a safetensors file without the rest of it; the files that were read last stay open."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import safetensors.torch
import torch

from alloykit.errors import AlloyError
from alloykit.knowledge.store import unit_rows
from alloykit.knowledge.store.unit_rows import OpenUnits, UnitRows

TENSORS = {"a": torch.arange(12.0).reshape(4, 3), "b": torch.arange(40).reshape(2, 4, 5).half()}


class Place:
    """The path of each unit, also in another process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str) -> str:
        return str(self.folder / name)


def written(folder: Path, *names: str) -> None:
    for name in names:
        safetensors.torch.save_file(TENSORS, folder / f"{name}.safetensors")


def test_rows_are_those_of_the_tensors(tmp_path: Path) -> None:
    written(tmp_path, "x")
    unit, at = UnitRows(tmp_path / "x.safetensors"), torch.tensor([3, 0, 3])
    assert "a" in unit
    assert "c" not in unit
    assert torch.equal(unit["a"][at], TENSORS["a"][at])
    assert torch.equal(unit["b"][:1, at], TENSORS["b"][:1, at])
    assert torch.equal(unit["b"][:2, at], TENSORS["b"][:2, at])


def test_the_files_that_were_read_last_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_rows, "OPEN", 2)
    written(tmp_path, "x", "y", "z")
    units = OpenUnits(Place(tmp_path))
    x, y = units.unit("x"), units.unit("y")
    assert units.unit("x") is x
    z = units.unit("z")
    assert [each.file.closed for each in (x, y, z)] == [False, True, False]
    assert units.unit("x") is x
    assert units.unit("y") is not y
    other = pickle.loads(pickle.dumps(units))
    assert torch.equal(other.unit("x")["a"][torch.tensor([1])], TENSORS["a"][[1]])


def test_a_file_that_is_cut_or_gone_is_an_error(tmp_path: Path) -> None:
    written(tmp_path, "x")
    unit = UnitRows(tmp_path / "x.safetensors")
    os.truncate(unit.path, os.path.getsize(unit.path) - 1)
    with pytest.raises(AlloyError, match=r"x.safetensors; got 'the file ends at byte"):
        unit["b"][:2, torch.tensor([3])]
    os.truncate(unit.path, 4)
    with pytest.raises(AlloyError, match=r"x.safetensors; got 'the file ends at byte 4, before byte 8'"):
        UnitRows(unit.path)
    unit.path.unlink()
    with pytest.raises(AlloyError, match=r"x.safetensors or the folder"):
        UnitRows(unit.path)
