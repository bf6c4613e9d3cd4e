"""`alloykit export`: the ONNX folder answers as the student does, or there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import odd_architectures
import pytest
import tiny
import torch
from commandline import run_here, write_csv
from transformers import AutoTokenizer

import alloykit
from alloykit.errors import AlloyError
from alloykit.exporting import float_graph as exporter
from alloykit.exporting.calibration import choose_form
from alloykit.exporting.compared_answers import compared_answers
from alloykit.finished_runs import export_student
from alloykit.models.export import TEMPERATURE, save_in_config
from alloykit.models.folder import NONE_OF_THESE
from alloykit.models.long_texts import LONG_TEXTS
from alloykit.serving.none_of_these_file import save_none_of_these
from alloykit.serving.onnx_predictor import GRAPHS, OnnxPredictor
from alloykit.serving.predictor import Predictor
from alloykit.stages.unusual_texts import fit_none_of_these
from alloykit.teachers.onnx import OnnxSpec
from alloykit.teachers.protocol import Reading

pytestmark = pytest.mark.slow

LABELS = ["a", "b", "c", "d"]
TEXTS = tiny.texts(60, seed=3, longest=30)
OWN_CODE = """
from transformers import BertConfig, BertForSequenceClassification


class OwnConfig(BertConfig):
    model_type = "own_model"


class OwnModel(BertForSequenceClassification):
    config_class = OwnConfig
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tiny.classifier(tmp_path / "model", LABELS)
    save_in_config(folder, {TEMPERATURE: 1.7})
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "texts.csv", [[text] for text in TEXTS])


def test_every_graph_answers_as_the_student(model: Path, texts: Path) -> None:
    place = alloykit.export(model, texts=texts, int8=True, fp16=True)
    assert place == model / "export" / "onnx"
    names = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert names == {"README.md", "SHA256SUMS", "config.json", "export.json", "onnx/model.onnx", "onnx/model_fp16.onnx",
                     "onnx/model_quantized.onnx", "tokenizer.json", "tokenizer_config.json"}  # fmt: skip
    graphs = [line.split()[1] for line in (place / "SHA256SUMS").read_text().splitlines()]
    assert sorted(graphs) == ["onnx/model.onnx", "onnx/model_fp16.onnx", "onnx/model_quantized.onnx"]
    student = Predictor.load(model, device="cpu")
    expected = student.probabilities(TEXTS)
    for number_format, tolerance in (("float32", 1e-5), ("float16", 1e-2), ("int8", 0.1)):
        onnx = OnnxPredictor.load(place, number_format=number_format)  # type: ignore[arg-type]
        assert (onnx.labels, onnx.max_length) == (student.labels, student.max_length)
        assert float((onnx.probabilities(TEXTS) - expected).abs().max()) < tolerance
    exact = OnnxPredictor.load(place, number_format="float32")
    assert torch.allclose(
        exact.probabilities(TEXTS, calibrated=False), student.probabilities(TEXTS, calibrated=False), atol=1e-5
    )
    assert torch.allclose(
        exact.logits(TEXTS) / 1.7,
        (exact.probabilities(TEXTS).log() + (exact.logits(TEXTS) / 1.7).logsumexp(-1, keepdim=True)),
        atol=1e-4,
    )
    record = json.loads((place / "export.json").read_text())
    assert record["graphs"]["float32"]["same_label"] == 1
    assert record["graphs"]["int8"]["tensors_in_float32"] >= 1
    assert "alloykit_temperature" not in json.loads((place / "config.json").read_text())
    assert AutoTokenizer.from_pretrained(place)("refund")["input_ids"]


def test_an_int8_answer_does_not_depend_on_its_batch(model: Path, texts: Path) -> None:
    onnx = OnnxPredictor.load(alloykit.export(model, texts=texts, int8=True))
    alone = torch.cat([onnx.probabilities([text]) for text in TEXTS[:8]])
    assert torch.allclose(alone, onnx.probabilities(TEXTS)[:8], atol=0.02)


@pytest.mark.parametrize("architecture", ["distilbert", "roberta", "electra"])
def test_other_architectures(architecture: str, tmp_path: Path, texts: Path) -> None:
    model = tiny.classifier(tmp_path / architecture, LABELS, architecture)
    place = alloykit.export(model, texts=texts)
    assert torch.allclose(
        OnnxPredictor.load(place).probabilities(TEXTS), Predictor.load(model).probabilities(TEXTS), atol=1e-5
    )


def test_a_graph_reads_without_padding_where_it_matters(
    model: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not OnnxPredictor.load(alloykit.export(model, texts=texts)).one_length
    monkeypatch.setattr("alloykit.serving.predictor.padding_changes_answers", lambda *_: True)
    place = alloykit.export(model, texts=texts)
    onnx, padded = OnnxPredictor.load(place), []
    teacher: Any = OnnxSpec(onnx=str(place)).describe("teacher").load(Reading())
    assert teacher.one_length
    forward = onnx.forward
    monkeypatch.setattr(
        onnx,
        "forward",
        lambda batch, states: (padded.append((batch["attention_mask"] == 0).any()), forward(batch, states))[1],
    )
    assert len(onnx.probabilities(TEXTS)) == len(TEXTS)
    assert len(padded) > 1
    assert not any(padded)


def test_what_int8_cannot_store(tmp_path: Path, texts: Path) -> None:
    """X-MOD: no text reaches the adapter of the other language. SqueezeBERT: no products."""
    models = {
        name: odd_architectures.classifier(tmp_path / name, name, tuple(LABELS)) for name in ("xmod", "squeezebert")
    }
    place = alloykit.export(models["xmod"], texts=texts, int8=True)
    assert json.loads((place / "export.json").read_text())["graphs"]["int8"]["same_label"] >= 0.99
    with pytest.raises(AlloyError, match="weights can be stored in 8 bits.*Leave out `--int8`"):
        alloykit.export(models["squeezebert"], texts=texts, int8=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fnet", "fft.*for the architecture fnet. Take a student of another architecture"),
        ("funnel", "in float32 that reads texts of every length; got one that fails: .*Nothing was exported.*PyTorch"),
    ],
)
def test_what_cannot_be_exported(
    name: str, message: str, tmp_path: Path, texts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """FNet: torch cannot export it, and writes no graph. Funnel: the trace has the positions of the example."""
    model = odd_architectures.classifier(tmp_path / name, name, tuple(LABELS))
    with pytest.raises(AlloyError, match=message):
        alloykit.export(model, texts=texts)
    assert "graph(" not in capfd.readouterr().out
    assert not list((model / "export").glob("*"))


def test_a_graph_that_answers_otherwise_is_not_handed_over(
    model: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Predictor.load(tiny.classifier(model.parent / "other", LABELS, seed=5), device="cpu")
    wrong = exporter.float_graph(other)
    monkeypatch.setattr(export_student, "float_graph", lambda predictor: wrong)
    run_here("export", model, "--onnx", "--texts", texts).refused("ONNX graph in float32", "Nothing was exported")
    assert not list((model / "export").glob("*"))


def test_a_graph_with_the_same_labels_and_other_probabilities_is_refused(
    model: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncalibrated(predictor: Predictor) -> bytes:
        colder = Predictor.load(model, device="cpu")
        colder.temperature = predictor.temperature / 100
        return exporter.float_graph(colder)

    monkeypatch.setattr(export_student, "float_graph", uncalibrated)
    with pytest.raises(
        AlloyError, match=r"differ from the student's by at most 0.05; got a difference of 0\..*Nothing was exported"
    ):
        alloykit.export(model, texts=texts)
    assert not list((model / "export").glob("*"))


def test_code_that_is_not_trusted_is_not_copied(model: Path, texts: Path, tmp_path: Path) -> None:
    """It is not needed for an architecture that transformers knows, and it could be a link to a private file."""
    (tmp_path / "private").write_text("a secret")
    (model / "own.py").symlink_to(tmp_path / "private")
    config = json.loads((model / "config.json").read_text())
    code = {"AutoModelForSequenceClassification": "own.OwnModel"}
    (model / "config.json").write_text(json.dumps(config | {"auto_map": code}))
    assert not list(alloykit.export(model, texts=texts).rglob("*.py"))


def test_an_int8_graph_that_answers_otherwise_is_refused_and_can_be_accepted(
    model: Path, texts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same labels on 40 of 60 texts with the first candidate, and on 57 with the next ones."""
    student = Predictor.load(model, device="cpu")
    right = student.probabilities(TEXTS)

    def measured(self: object, name: str, graph: bytes) -> dict[str, object]:
        found = right.clone()
        wrong = {b"fast": 20, b"exact": 3, b"slow": 4}.get(graph, 0)
        found[:wrong] = found[:wrong].roll(1, -1)
        one = {"file": GRAPHS[name], "bytes": len(graph)}  # type: ignore[index]
        return one | compared_answers(right, found) | {"times_as_fast": 1.0}

    monkeypatch.setattr(export_student._Export, "_measured", measured)
    candidates = [(b"fast", 1), (b"exact", 2), (b"slow", 3)]
    monkeypatch.setattr(export_student, "int8_graphs", lambda *_: iter(candidates))
    with pytest.raises(AlloyError, match=r"at least 99 % .*got 95 %.*Nothing was exported.*--min-agreement 0\.95"):
        alloykit.export(model, texts=texts, int8=True)
    assert not list((model / "export").glob("*"))
    place = alloykit.export(model, texts=texts, int8=True, min_agreement=0.95)
    assert (place / GRAPHS["int8"]).read_bytes() == b"exact"
    run_here("export", model, "--onnx", "--texts", texts, "--int8", "--min-agreement", "1.5").refused("from 0 to 1")


def add_unusual(model: Path) -> Path:
    """Write none_of_these.safetensors into a model's folder."""
    student = Predictor.load(model, device="cpu")
    p, states = student.with_states(TEXTS)
    assert states is not None
    unseen = torch.arange(len(TEXTS)) % 3 == 0
    save_none_of_these(model, fit_none_of_these(student, states, p.argmax(-1), unseen)[0])
    return model


@pytest.fixture
def unusual(model: Path) -> Path:
    return add_unusual(model)


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_the_export_says_how_unusual_a_text_is(architecture: str, model: Path, texts: Path, tmp_path: Path) -> None:
    """The head of BERT reads one state for each text, that of GPT-2 one for each token."""
    if architecture == "gpt2":
        model = odd_architectures.classifier(tmp_path / "gpt2", "gpt2", tuple(LABELS))
    unusual = add_unusual(model)
    output = alloykit.export(unusual, texts=texts, output=tmp_path / "out")
    new = tiny.texts(20, seed=8)
    expected = Predictor.load(unusual, device="cpu").predict(new, none_of_these=True)
    found = OnnxPredictor.load(output).predict(new, none_of_these=True)
    assert expected.none_of_these is not None
    assert found.none_of_these is not None
    assert torch.allclose(found.none_of_these, expected.none_of_these, atol=1e-3)
    assert torch.allclose(found.probabilities, expected.probabilities, atol=1e-5)
    assert json.loads((output / "export.json").read_text())["graphs"]["float32"]["none_of_these"]["same_side"] == 1
    answer = run_here("predict", output, texts, "--onnx", "--none-of-these").lines[0]
    assert 0 <= answer["none_of_these"] <= 1
    (output / NONE_OF_THESE).unlink()
    run_here("predict", output, texts, "--onnx", "--none-of-these").refused(NONE_OF_THESE, "export the run again")


@pytest.mark.parametrize("long_texts", ["tail", "mean"])
def test_long_texts_are_read_as_the_student_reads_them(
    long_texts: str, unusual: Path, texts: Path, tmp_path: Path
) -> None:
    config = json.loads((unusual / "config.json").read_text())
    (unusual / "config.json").write_text(json.dumps(config | {LONG_TEXTS: long_texts}))
    output = alloykit.export(unusual, texts=texts, output=tmp_path / "out")
    long = [" ".join(TEXTS[i : i + 12]) for i in range(0, 48, 12)]
    student, onnx = Predictor.load(unusual, device="cpu"), OnnxPredictor.load(output)
    assert onnx.long_texts == student.long_texts == long_texts
    expected, found = (each.predict(long, none_of_these=True) for each in (student, onnx))
    assert torch.allclose(found.probabilities, expected.probabilities, atol=1e-5)
    assert torch.allclose(found.none_of_these, expected.none_of_these, atol=1e-3)  # type: ignore[arg-type]
    onnx.long_texts = "head"
    assert not torch.allclose(onnx.probabilities(long), expected.probabilities, atol=1e-3)
    assert "long_texts" in (output / "README.md").read_text()


def test_a_failed_export_leaves_the_earlier_one(model: Path, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = alloykit.export(model, texts=texts)
    before = (place / "onnx" / "model.onnx").read_bytes()
    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(export_student, "export_card", lambda *_: (_ for _ in ()).throw(RuntimeError("stopped")))
        alloykit.export(model, texts=texts)
    assert [path.name for path in place.parent.iterdir()] == ["onnx"]
    assert (place / "onnx" / "model.onnx").read_bytes() == before
    alloykit.export(model, texts=texts)


def test_the_command_and_predict(model: Path, texts: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    result = run_here("export", model, "--onnx", "--texts", texts, "--output", output)
    assert result.out == f"export: {output}\n"
    onnx, torch_ = (
        run_here("predict", folder, texts, *more).lines for folder, more in ((output, ["--onnx"]), (model, []))
    )
    assert [each["label"] for each in onnx] == [each["label"] for each in torch_]
    assert [each["probability"] for each in onnx] == pytest.approx([each["probability"] for each in torch_], abs=1e-5)
    run_here("export", model).refused("--onnx")
    run_here("export", model, "--onnx").refused("--texts")
    run_here("predict", model, texts, "--onnx").refused("alloykit export RUN --onnx")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    run_here("export", model, "--onnx", "--texts", texts, "--output", tmp_path / "full").refused("other files")


def test_a_missing_package_names_the_extra(model: Path, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    run_here("export", model, "--onnx", "--texts", texts).refused("alloykit[onnx]")


def test_migration_moves_a_large_channel_into_the_weights() -> None:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(400, 16)).astype(np.float32)
    rows[:, 3] *= 80
    weight = generator.normal(size=(16, 8)).astype(np.float32)
    weight[3] /= 80
    form = choose_form(rows, {"w": weight})
    assert form.divisor is not None
    assert form.divisor[3] > 4 * np.median(form.divisor)
    assert form.error < 1e-3
    assert max(abs(int(n)) for n in form.weights["w"][0].flat) <= 63


def test_odd_places_of_an_export(model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place without a name. An earlier export that a kill left between two renames is there again, also if the new one fails."""
    with pytest.raises(alloykit.AlloyError, match="a folder as `--output`"):
        alloykit.export(model, texts=texts, output="/")
    old = tmp_path / ".exported.tmp" / "old"
    old.mkdir(parents=True)
    (old / "export.json").write_text("{}")

    def fail(*_: object, **__: object) -> None:
        raise alloykit.AlloyError(expected="x", got="y")

    monkeypatch.setattr(export_student._Export, "write", fail)
    with pytest.raises(alloykit.AlloyError, match="expected x"):
        alloykit.export(model, texts=texts, output=tmp_path / "exported")
    assert [path.name for path in (tmp_path / "exported").iterdir()] == ["export.json"]


def test_a_student_with_code_of_its_own(
    model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing runs without the flag. With it, the export has the code too: its tokenizer cannot be loaded without it."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    expected = Predictor.load(model, device="cpu").probabilities(TEXTS)
    (model / "own.py").write_text(OWN_CODE)
    config = json.loads((model / "config.json").read_text())
    code = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.OwnModel"}
    (model / "config.json").write_text(json.dumps(config | {"model_type": "own_model", "auto_map": code}))
    with pytest.raises(AlloyError, match="--trust-remote-code to the command"):
        alloykit.export(model, texts=texts)
    place = alloykit.export(model, texts=texts, trust_remote_code=True)
    with pytest.raises(AlloyError, match="--trust-remote-code to the command"):
        OnnxPredictor.load(place)
    found = OnnxPredictor.load(place, trust_remote_code=True).probabilities(TEXTS)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
