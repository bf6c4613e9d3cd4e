"""Other number formats answer nearly the same; knowledge made in one is not mixed with another's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import passes_unit
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.protocol import Needs
from alloykit.models import compute_format as numbers
from alloykit.models.compute_format import ComputeFormat
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.stages.prepare import prepare
from alloykit.teachers.hugging_face import HuggingFaceInfo, HuggingFaceSpec, read_teacher_info
from alloykit.teachers.protocol import Reading
from alloykit.training.steps import StepProbe
from alloykit.training.training_options import TrainingOptions


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> HuggingFaceInfo:
    folder = tmp_path_factory.mktemp("teacher")
    tiny.classifier(folder, ["a", "b", "c"])
    return read_teacher_info(HuggingFaceSpec(model=str(folder)), "t")


def logits(info: HuggingFaceInfo, chosen: ComputeFormat) -> torch.Tensor:
    teacher = info.load(Reading(compute_format=chosen))
    with torch.inference_mode():
        return teacher.model(**teacher.batch(teacher.encode(tiny.texts(30)))).logits.float()


@pytest.mark.parametrize("chosen", [ComputeFormat(int8=True), ComputeFormat("bfloat16")], ids=lambda n: n.name)
def test_answers_are_close_but_not_equal(info: HuggingFaceInfo, chosen: ComputeFormat) -> None:
    exact, other = logits(info, ComputeFormat()), logits(info, chosen)
    error = (other.softmax(-1) - exact.softmax(-1)).abs().max()
    assert 0 < error < 0.15
    assert (other.argmax(-1) == exact.argmax(-1)).double().mean() > 0.9


def test_int8_replaces_every_linear_layer(info: HuggingFaceInfo) -> None:
    model = info.load(Reading(compute_format=ComputeFormat(int8=True))).model
    linear = [m for m in model.modules() if type(m) is torch.nn.Linear]
    assert linear == []
    assert any(
        "DynamicQuantizedLinear" in type(m).__name__ or "quantized" in type(m).__module__ for m in model.modules()
    )


def test_the_fingerprint_is_that_of_the_weights_as_they_were_loaded(info: HuggingFaceInfo) -> None:
    prints = [
        info.load(Reading(compute_format=n)).fingerprint
        for n in (ComputeFormat(), ComputeFormat(int8=True), ComputeFormat("bfloat16"))
    ]
    assert prints[0] == prints[1] == prints[2]


@pytest.mark.parametrize("chosen", [ComputeFormat(int8=True), ComputeFormat("bfloat16")], ids=lambda n: n.name)
def test_a_sweep_with_passes_works_and_its_store_is_for_one_format(
    info: HuggingFaceInfo, chosen: ComputeFormat, tmp_path: Path
) -> None:
    from alloykit.data import load_texts

    texts, store = load_texts(tiny.texts(12)), Store(tmp_path)
    options = SweepOptions(passes=4, dropout=0.1, max_length=32, compute_format=chosen)
    sweep([info], texts, store, options)
    assert store.load(passes_unit("t", next(iter(store.shards())), 0))["per_pass"].dtype == torch.float32
    with pytest.raises(AlloyError, match=r"compute_format = float32.*compute_format = " + chosen.name):
        sweep([info], texts, store, SweepOptions(passes=4, dropout=0.1, max_length=32))


def test_compile_goes_through_torch_compile(info: HuggingFaceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compiled(model: Any, **how: Any) -> Any:
        asked.append(how)
        return model

    monkeypatch.setattr(numbers.torch, "compile", compiled)
    assert torch.equal(logits(info, ComputeFormat(compile=True)), logits(info, ComputeFormat()))
    assert asked == [{"dynamic": True}]
    assert info.load(Reading(dropout=0.1, compute_format=ComputeFormat(compile=True))).sampler == "stock"
    assert info.load(Reading(dropout=0.1)).sampler == "bytes"


def recipe(info: HuggingFaceInfo, tmp_path: Path, **inference: Any) -> Recipe:
    (tmp_path / "texts.txt").write_text("a\nb\n")
    return parse(
        {
            "teachers": [info.spec.model],
            "texts": str(tmp_path / "texts.txt"),
            "method": {"name": "ensemble"},
            "inference": inference,
            "output": str(tmp_path / "run"),
        },
        Recipe,
    )


def machine(monkeypatch: pytest.MonkeyPatch, *, gpu: bool = False, avx512: bool = False, amx: bool = False) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr("torch.cpu._is_amx_tile_supported", lambda: amx)


@pytest.mark.parametrize(
    ("has", "expected"),
    [({}, "float32"), ({"avx512": True}, "bfloat16"), ({"amx": True}, "bfloat16"), ({"gpu": True}, "bfloat16")],
)
def test_what_auto_means(
    info: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has: dict[str, bool], expected: str
) -> None:
    machine(monkeypatch, **has)
    options = prepare(recipe(info, tmp_path)).sweep_options()
    assert options.compute_format == ComputeFormat(expected)
    assert options.tokens_per_batch == (65_536 if "gpu" in has else 4096)
    chosen = prepare(recipe(info, tmp_path, precision="float32", tokens_per_batch=9)).sweep_options()
    assert (chosen.compute_format, chosen.tokens_per_batch) == (ComputeFormat("float32"), 9)


def test_int8_rests_on_float32(info: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, avx512=True)
    assert prepare(recipe(info, tmp_path, int8=True)).sweep_options().compute_format == ComputeFormat(
        "float32", int8=True
    )


@pytest.mark.parametrize(("wanted", "expected"), [("auto", True), ("bfloat16", True), ("float32", False)])
def test_the_student_learns_in_the_same_numbers(
    info: HuggingFaceInfo, monkeypatch: pytest.MonkeyPatch, wanted: str, expected: bool
) -> None:
    machine(monkeypatch, avx512=True)
    model = info.load(Reading()).model.requires_grad_(True)
    seen: list[torch.dtype] = []
    options = TrainingOptions(precision=wanted)
    probe = StepProbe(model, info.load(Reading()).tokenizer, options, Needs(), "cpu")
    model.classifier.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    probe.step(info.load(Reading()).encode(tiny.texts(4)))
    assert seen == [torch.bfloat16 if expected else torch.float32]
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_contradictions_are_refused(info: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AlloyError, match=r"either int8 or precision bfloat16"):
        recipe(info, tmp_path, int8=True, precision="bfloat16")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    with pytest.raises(AlloyError, match=r"teachers on a CPU.*int8"):
        prepare(recipe(info, tmp_path, int8=True))
