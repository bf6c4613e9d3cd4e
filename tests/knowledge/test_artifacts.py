"""Tensors that were computed once are taken again only if they are whole and made of the same."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import tiny
import torch
from pydantic import BaseModel, field_validator
from safetensors import SafetensorError

from alloykit.blocks import ModelSpec
from alloykit.data import load_texts
from alloykit.errors import AlloyError
from alloykit.knowledge.online.encoder_states import EncoderReading, text_states
from alloykit.knowledge.store.artifacts import (
    cached_tensors,
    check_made,
    differences,
    read_tensors,
    record_made,
    recorded,
    what_differs,
    with_defaults_of,
)


def test_states_of_another_encoder_are_computed_anew(models: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(models["encoder"], tmp_path / "encoder")
    texts, path = load_texts(tiny.texts(6)), tmp_path / "states.safetensors"
    reading = EncoderReading(ModelSpec(model=str(tmp_path / "encoder")), "cls", 16, 256, "cpu")
    every = torch.arange(6)
    first = text_states(reading, texts, path)[every]
    written = path.stat().st_mtime_ns
    assert torch.equal(text_states(reading, texts, path)[every], first)
    assert path.stat().st_mtime_ns == written
    tiny.encoder(tmp_path / "encoder", seed=9)
    assert not torch.equal(text_states(reading, texts, path)[every], first)


def test_states_are_computed_in_the_wanted_precision(models: dict[str, Path], tmp_path: Path) -> None:
    texts, path, every = load_texts(tiny.texts(6)), tmp_path / "states.safetensors", torch.arange(6)
    reading = EncoderReading(ModelSpec(model=str(models["encoder"])), "mean", 16, 256, "cpu")
    full = text_states(reading, texts, path)[every].float()
    short = text_states(replace(reading, precision="bfloat16"), texts, path)[every].float()  # not those of the file
    difference = (full - short).abs().max() / full.abs().max()
    assert 1e-4 < difference < 2**-5


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "no record"])
def test_damaged_tensors_are_computed_anew(damage: str, tmp_path: Path) -> None:
    path, calls = tmp_path / "t.safetensors", []

    def compute() -> dict[str, torch.Tensor]:
        calls.append(1)
        return {"a": torch.arange(4.0)}

    for _ in range(2):
        assert cached_tensors(path, {"of": ("x", 1)}, compute)["a"].tolist() == [0, 1, 2, 3]
    assert len(calls) == 1
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    new = {"flip": bytes(data), "cut": bytes(data[:-4]), "empty": b"", "no record": b""}[damage]
    path.write_bytes(new)
    if damage == "no record":
        safetensors.torch.save_file({"a": torch.zeros(4)}, path)
    assert cached_tensors(path, {"of": ("x", 1)}, compute)["a"].tolist() == [0, 1, 2, 3]
    assert len(calls) == 2
    found = read_tensors(path)
    assert found is not None
    assert found[0] == {"of": ["x", 1]}
    cached_tensors(path, {"of": ("x", 2)}, compute)
    assert len(calls) == 3, "of other inputs"


class Inner(BaseModel):
    rate: float = 0.1
    new: str = "head"


class Settings(BaseModel):
    inner: Inner = Inner()
    newer: int | None = 5


def test_a_record_of_an_earlier_version_has_the_defaults_of_later_settings(tmp_path: Path) -> None:
    record = tmp_path / "made_of.json"
    record_made(record, {"inner": {"rate": 0.2}, "texts": "x"})

    def check(settings: Settings, **others: Any) -> None:
        made_of = settings.model_dump() | {"texts": "x"} | others
        check_made(record, made_of, expected="a", complete=lambda before: with_defaults_of(Settings, before))

    check(Settings(inner=Inner(rate=0.2)), validation=None)
    for settings, others, words in (
        (Settings(inner=Inner(rate=0.3)), {}, "inner.rate: was 0.2, now 0.3"),
        (Settings(inner=Inner(rate=0.2, new="tail")), {}, "inner.new: was 'head', now 'tail'"),
        (Settings(inner=Inner(rate=0.2), newer=6), {}, "newer: was 5, now 6"),
        (Settings(inner=Inner(rate=0.2)), {"validation": "y"}, "validation: not recorded"),
    ):
        with pytest.raises(AlloyError, match=words):
            check(settings, **others)


def test_a_record_grows_and_is_written_only_if_it_changes(tmp_path: Path) -> None:
    record = tmp_path / "made_of.json"
    record_made(record, {"texts": "x", "teachers": [1, 2]})
    record_made(record, {"seed": 3})
    before = record.stat().st_ino
    record_made(record, {"seed": 3})
    assert record.stat().st_ino == before, "an atomic write makes a new file"
    assert recorded(record) == {"texts": "x", "teachers": [1, 2], "seed": 3}
    record_made(record, {"texts": "y", "seed": 3})
    assert what_differs(record, {"texts": "x"}) == ["texts: was 'y', now 'x'"]
    record_made(record, {"texts": "x", "place": Path("a")})
    assert what_differs(record, {"place": Path("a")}) == []
    assert what_differs(record, {"teachers": [1, 2, 3]}) == ["teachers: was [1, 2], now [1, 2, 3]"]
    assert what_differs(record, {"teachers": [1, 4]}) == ["teachers.1: was 2, now 4"]
    assert what_differs(record, {"texts": None, "new": None}) == ["texts: was 'x', now None"]
    record_made(record, {"seed": 4}, anew=True)
    assert recorded(record) == {"seed": 4}
    record.write_text("[1]")
    with pytest.raises(AlloyError, match=r"a JSON object in .*made_of\.json; got list"):
        recorded(record)


def test_differences_are_in_the_order_of_the_earlier_values() -> None:
    """A key that one of both lacks counts as None. Of a fingerprint nobody wants to see the characters."""
    one, two, longer = "a" * 64, "b" * 64, "c" * 65
    before = {"z": {"y": 1, "x": 2}, "new": None, "models": [one, one, longer], "gone": one}
    now = {"early": 5, "models": [two, None, one + "0"], "new": one, "z": {"x": 3}}
    assert differences("inputs", before, now) == [
        "inputs.z.y: was 1, now None",
        "inputs.z.x: was 2, now 3",
        "inputs.new differ in content",
        "inputs.models.0 differ in content",
        "inputs.models.1 differ in content",
        f"inputs.models.2: was '{longer}', now '{one}0'",
        "inputs.gone differ in content",
        "inputs.early: was None, now 5",
    ]


def test_what_is_made_for_the_first_time_has_no_record(tmp_path: Path) -> None:
    check_made(tmp_path / "made_of.json", {"texts": "x"}, expected="a", complete=None)


class Refusing(BaseModel):
    place: str = ""

    @field_validator("place")
    @classmethod
    def _is_refused(cls, value: str) -> str:
        raise AlloyError(expected="another place", got=value)


def test_settings_that_this_version_refuses_stay_as_they_are() -> None:
    assert with_defaults_of(Refusing, {"place": "x"}) == {"place": "x"}


@pytest.mark.parametrize("made_of", ["{", "5", "[1]", "null"])
def test_tensors_that_do_not_say_what_they_were_made_of_are_computed_anew(made_of: str, tmp_path: Path) -> None:
    path, wanted = tmp_path / "t.safetensors", torch.arange(6.0).reshape(2, 3).T
    for _ in range(2):
        found = cached_tensors(path, {"of": 1}, lambda: {"b": wanted, "a": torch.zeros(2).half(), "c": torch.ones(1)})
        assert torch.equal(found["b"], wanted)
        with safetensors.safe_open(path, framework="pt") as file:
            about = file.metadata()
        assert about["made_of"] == '{"of": 1}'
        safetensors.torch.save_file(safetensors.torch.load_file(path), path, about | {"made_of": made_of})
        with pytest.raises(SafetensorError, match="does not say what it was made of"):
            read_tensors(path)


def test_a_device_in_the_place_of_tensors_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.safetensors").symlink_to("/dev/null")
    with pytest.raises(AlloyError, match="got a pipe or a device"):
        read_tensors(tmp_path / "t.safetensors")


@pytest.mark.parametrize("record", [{"inner": 5}, {"inner": None}, {"inner": {"rate": []}}, {"newer": "x"}])
def test_a_damaged_record_stays_as_it_is(record: dict[str, Any]) -> None:
    assert with_defaults_of(Settings, record) == record
