"""Whatever loads a model and is told no device takes the accelerator that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch

from alloykit import AlloyError
from alloykit.models import device
from alloykit.models.device import pick_device
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.serving.predictor import Predictor
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
from alloykit.teachers.protocol import Reading


def have(monkeypatch: pytest.MonkeyPatch, *there: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in there)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in there)


@pytest.mark.parametrize(
    ("there", "expected"), [((), "cpu"), (("cuda",), "cuda"), (("mps",), "mps"), (("cuda", "mps"), "cuda")]
)
def test_auto_is_the_accelerator_that_is_there(
    there: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(monkeypatch, *there)
    assert pick_device() == pick_device("auto") == expected
    assert pick_device("cpu") == "cpu"


@pytest.mark.parametrize("wanted", ["cuda", "mps"])
def test_an_accelerator_that_is_not_there_is_refused(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch)
    with pytest.raises(AlloyError, match=f"device: {wanted}"):
        pick_device(wanted)


def test_a_recipe_may_ask_for_each_of_them() -> None:
    for name in ("auto", "cpu", "cuda", "mps"):
        recipe = parse({"teachers": ["t"], "texts": "x.csv", "output": "run", "device": name}, Recipe)
        assert recipe.device == name


def test_predictor_and_teacher_go_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The accelerator here is torch's device without memory: where the weights were sent is seen, nothing is computed."""
    folder = tiny.classifier(tmp_path / "m", ["a", "b"])
    sent: list[str] = []
    real = torch.nn.Module.to

    def to(self: Any, *where: Any, **more: Any) -> Any:
        sent.extend(place for place in where if place == "mps")
        return self if "mps" in where else real(self, *where, **more)

    have(monkeypatch, "mps")
    monkeypatch.setattr(torch.nn.Module, "to", to)
    Predictor.load(folder)
    assert sent == ["mps"]
    read_teacher_info(HuggingFaceSpec(model=str(folder)), "m").load(Reading())
    assert sent == ["mps", "mps"]
    Predictor.load(folder, device="cpu")
    assert sent == ["mps", "mps"]


def test_evaluation_and_predict_name_no_device_of_their_own() -> None:
    """`device: cpu` by default was how a GPU stood idle: every default is `auto`, and every choice is made in one place."""
    root = Path(device.__file__).parents[1]
    defaults = [p for p in root.rglob("*.py") if 'device: str = "cpu"' in p.read_text(encoding="utf-8")]
    assert [str(p.relative_to(root)) for p in defaults] == []
    choosers = [p for p in root.rglob("*.py") if "mps.is_available" in p.read_text(encoding="utf-8")]
    assert [str(p.relative_to(root)) for p in choosers] == ["models/device.py"]
