"""ONNX classifiers and zero-shot models as teachers: the answers of their models, what identifies them, and a run with both."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
import tiny
import torch
from commandline import Call, write_recipe
from onnx.external_data_helper import convert_model_to_external_data
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import alloykit
from alloykit import AlloyError
from alloykit.data import load_texts
from alloykit.exporting.float_graph import float_graph
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.models.export import TEMPERATURE, save_in_config
from alloykit.serving.predictor import Predictor
from alloykit.teachers.onnx import OnnxSpec, OnnxTeacher
from alloykit.teachers.protocol import Reading, TeacherInfo
from alloykit.teachers.zero_shot import ZeroShotSpec

TEXTS = tiny.texts(20, seed=3, longest=30)
NLI = ["contradiction", "neutral", "entailment"]
PHRASES = {"late": "a late parcel", "lost": "a lost box"}


def answered(info: TeacherInfo, texts: list[str] = TEXTS) -> torch.Tensor:
    teacher = info.load(Reading(device="cpu"))
    told = list[int]()
    logits = teacher.answer(teacher.prepare(texts), told.append).logits
    assert sum(told) == len(texts)
    return logits


@pytest.fixture(scope="module")
def torch_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny.classifier(tmp_path_factory.mktemp("torch"), ["track", "damaged"], seed=4)
    save_in_config(folder, {TEMPERATURE: 1.7})
    return folder


@pytest.fixture(scope="module")
def exported(torch_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `alloykit export` writes it: the graph divides its logits by the temperature 1.7."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(float_graph(Predictor.load(torch_model, device="cpu")))
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(torch_model / name, folder)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """A copy, to change."""
    return Path(shutil.copytree(exported, tmp_path / "onnx"))


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.classifier(tmp_path_factory.mktemp("nli"), NLI, seed=6)


def test_onnx_logits_are_those_of_the_model(exported: Path, torch_model: Path) -> None:
    info = OnnxSpec(onnx=str(exported), labels={"track": "where"}).describe("x")
    assert (info.labels, info.gives.describe(), info.gives.states) == (("where", "damaged"), "logits", None)
    wanted = Predictor.load(torch_model, device="cpu").logits(TEXTS) / 1.7
    assert torch.allclose(answered(info), wanted, atol=1e-4)


def test_only_inputs_of_the_graph_are_fed(folder: Path, exported: Path) -> None:
    """A graph as others write it: at the top of the folder, without token types, with an output of another name, in int32."""
    model = onnx.load(folder / "onnx" / "model.onnx")
    assert [each.name for each in model.graph.input] == ["input_ids", "attention_mask"]
    types = onnx.helper.make_tensor_value_info("token_type_ids", onnx.TensorProto.INT32, ["batch", "length"])
    model.graph.input.append(types)
    model.graph.output[0].name = "scores"
    model.graph.node.append(onnx.helper.make_node("Cast", ["token_type_ids"], ["as_float"], to=onnx.TensorProto.FLOAT))
    model.graph.node.append(onnx.helper.make_node("ReduceSum", ["as_float"], ["zero"], keepdims=0))
    model.graph.node.append(onnx.helper.make_node("Add", ["logits", "zero"], ["scores"]))
    onnx.save(model, folder / "model.onnx")
    (folder / "onnx" / "model.onnx").unlink()
    wanted = answered(OnnxSpec(onnx=str(exported)).describe("x"))
    assert torch.allclose(answered(OnnxSpec(onnx=str(folder)).describe("x")), wanted, atol=1e-5)
    types.name, model.graph.node[-3].input[0] = "position_ids", "position_ids"
    model.graph.input[-1].name = "position_ids"
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(AlloyError, match="got 'position_ids'"):
        OnnxSpec(onnx=str(folder)).describe("x").load(Reading())


def test_external_data_stays_in_the_folder(folder: Path, exported: Path, tmp_path: Path) -> None:
    path = folder / "onnx" / "model.onnx"
    model = onnx.load(path)
    convert_model_to_external_data(model, location="weights.bin", size_threshold=0)
    onnx.save(model, path)
    info = OnnxSpec(onnx=str(folder)).describe("x")
    assert [p.name for p in info.files] == ["model.onnx", "weights.bin"]
    assert torch.equal(answered(info), answered(OnnxSpec(onnx=str(exported)).describe("x")))
    before = info.identity()
    data = path.parent / "weights.bin"
    data.write_bytes(data.read_bytes() + b"\0")
    assert info.identity() != before, "its bytes are part of the identity"
    data.rename(tmp_path / "weights.bin")
    with pytest.raises(AlloyError, match="'weights.bin', which is missing"):
        _read(path, folder)
    data.symlink_to(tmp_path / "weights.bin")
    with pytest.raises(AlloyError, match="inside its folder"):
        _read(path, folder)
    for location in ("../../weights.bin", str(tmp_path / "weights.bin")):
        changed = onnx.load(path, load_external_data=False)
        for tensor in changed.graph.initializer:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = location
        onnx.save(changed, folder / "model.onnx")
        with pytest.raises(AlloyError, match="inside its folder"):
            OnnxSpec(onnx=str(folder), file="model.onnx").describe("x")


def _read(path: Path, folder: Path) -> None:
    path.touch()  # as a changed file
    OnnxSpec(onnx=str(folder)).describe("x")


def test_what_is_refused(folder: Path, exported: Path, torch_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(words: str, **more: Any) -> None:
        with pytest.raises(AlloyError, match=words):
            OnnxSpec(onnx=str(folder), **more).describe("x").load(Reading())

    refused("'onnx/model.onnx'.*Name the graph", file="missing.onnx")
    (folder / "model.onnx").symlink_to(exported / "onnx" / "model.onnx")
    refused("leads out of it", file="model.onnx")
    model = onnx.load(folder / "onnx" / "model.onnx")
    model.graph.node[-1].domain = "own.operators"
    onnx.save(model, folder / "custom.onnx")
    refused(r"the custom operators 'own\.operators", file="custom.onnx")
    (folder / "damaged.onnx").write_bytes(b"no graph")
    refused("an ONNX graph in", file="damaged.onnx")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(config | {"id2label": {"0": "a", "1": "b", "2": "c"}, "label2id": {}})
    )
    refused("3 finite numbers")
    (folder / "config.json").write_text(json.dumps(config | {"problem_type": "regression"}))
    refused("a regression head")
    with pytest.raises(AlloyError, match="no ONNX file"):
        OnnxSpec(onnx=str(torch_model)).describe("x")
    with pytest.raises(AlloyError, match="is not there"):
        OnnxSpec(onnx=str(folder / "nowhere")).describe("x")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(AlloyError, match=r"alloykit\[onnx\]"):
        OnnxSpec(onnx=str(exported)).describe("x")


@torch.no_grad()
def test_zero_shot_is_a_loop_over_pairs(nli: Path) -> None:
    spec = ZeroShotSpec(zero_shot=str(nli), labels=["late", "lost", "app"], hypothesis="it is {} again", names=PHRASES)
    info = spec.describe("x")
    assert (info.labels, info.gives.describe()) == (("late", "lost", "app"), "logits")
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(nli), AutoTokenizer.from_pretrained(nli)
    sentences = ["it is a late parcel again", "it is a lost box again", "it is app again"]
    wanted = torch.tensor(
        [[float(model.eval()(**tokenizer(t, s, return_tensors="pt")).logits[0, 2]) for s in sentences] for t in TEXTS]
    )
    found = answered(info)
    assert torch.allclose(found, wanted, atol=1e-4)
    assert float(found.std(0).min()) > 1e-3, "the oracle tells texts apart"
    long = answered(info, ["refund " * 500, "refund " * 501])
    torch.testing.assert_close(long[0], long[1], msg="the text is cut")
    assert float(long.std(1).min()) > 1e-3, "and the hypothesis is not"
    teacher = info.load(Reading(device="cpu"))
    assert teacher.prepare(["my card"], ["is lost"]) == teacher.prepare(["my card\nis lost"])
    other = spec.model_copy(update={"names": {}}).describe("x")
    assert other.identity() != info.identity()


def test_what_zero_shot_refuses(nli: Path, torch_model: Path) -> None:
    def refused(words: str, **more: Any) -> None:
        with pytest.raises(AlloyError, match=words):
            ZeroShotSpec(**({"zero_shot": str(nli), "labels": ["a", "b"]} | more)).describe("x").load(Reading())

    refused("entailment, neutral and contradiction.*'track', 'damaged'", zero_shot=str(torch_model))
    refused("a class of the NLI model", entailment="LABEL_7")
    refused("`names:`", names={"c": "a phrase"})
    refused("at least 2 labels", labels=["a"])
    refused("hypotheses of at most 32 tokens", hypothesis="very " * 40 + "{}")
    with pytest.raises(ValueError, match="one {}"):
        ZeroShotSpec(zero_shot=str(nli), labels=["a", "b"], hypothesis="no place")
    named = ZeroShotSpec(zero_shot=str(torch_model), labels=["a", "b"], entailment="damaged").describe("x")
    assert named.entailment == 1


def test_finished_units_are_not_computed_again(
    exported: Path, nli: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swept(hypothesis: str = "about {}") -> dict[str, bytes]:
        zero = ZeroShotSpec(zero_shot=str(nli), labels=["late", "lost"], hypothesis=hypothesis)
        infos = [OnnxSpec(onnx=str(exported)).describe("onnx"), zero.describe("zero")]
        sweep(infos, load_texts(TEXTS), Store(tmp_path / "store", shard_rows=8), SweepOptions(device="cpu"))
        files = (tmp_path / "store").rglob("*/*.logits.safetensors")
        return {str(p): p.read_bytes() for p in files}

    first = swept()
    assert len(first) == 6
    with monkeypatch.context() as patch:
        patch.setattr(OnnxTeacher, "__init__", lambda *_: pytest.fail("a finished sweep loads no teacher"))
        assert swept() == first
    victim = next(p for p in first if "/onnx/" in p)
    Path(victim).unlink()
    assert swept() == first, "the same bits again"
    with pytest.raises(AlloyError, match="hypotheses"):
        swept("of {}")


@pytest.mark.slow
def test_a_run_with_both(recipe: dict[str, Any], exported: Path, nli: Path, tmp_path: Path, call: Call) -> None:
    zero = {"zero_shot": str(nli), "labels": ["late", "lost"], "names": PHRASES, "name": "zero"}
    recipe |= {
        "teachers": [recipe["teachers"][0], {"onnx": str(exported), "name": "graph"}, zero], "method": "alloy",
        "training": {"epochs": 1, "max_length": 32},
        "texts": {"path": recipe["texts"], "limit": 40},
    }  # fmt: skip
    path = write_recipe(tmp_path, recipe)
    plan = call("plan", path, "--no-probe").out
    assert "gives logits" in plan
    assert "methods for these teachers: muka (passes: 0), alloy, vanilla_kd, uhc" in plan
    doctor = call("doctor", path).out
    assert "2 labels (track, damaged), onnx:" in doctor
    assert "2 labels (late, lost), zero_shot:" in doctor
    alloykit.sweep(**{key: recipe[key] for key in ("teachers", "texts", "method", "student", "training", "output")})
    assert call("amalgamate", path).code == 0
    assert call("evaluate", recipe["output"]).code == 0
    metrics = json.loads((Path(recipe["output"]) / "metrics.json").read_text())
    assert metrics["teachers"]["graph"] == ["track", "damaged"]
    assert metrics["teachers"]["zero"] == ["late", "lost"]
    for page in ("report.html", "student/README.md"):
        assert str(exported.parent) not in (Path(recipe["output"]) / page).read_text()
    call("plan", path, "-o", "method=muka").refused("teacher 'graph' gives no Monte-Carlo passes")
