"""Teachers that are not built like BERT: their answers, states and passes; and that only encoders of texts can be students."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import odd_architectures
import pytest
import tiny
import torch
from some_quick import some_quick
from transformers import AutoModelForSequenceClassification

import alloykit
from alloykit import AlloyError
from alloykit.blocks import ModelSpec
from alloykit.data import load_texts
from alloykit.knowledge.online.encoder_states import EncoderReading, TextEncoder
from alloykit.knowledge.online.online_source import OnlineSource
from alloykit.models.compute_format import ComputeFormat
from alloykit.models.dropout import dropout_active, dropout_rates, set_dropout_rate
from alloykit.models.forward import Budget, forward_texts
from alloykit.serving.predictor import Predictor
from alloykit.serving.student_reading import read_by_student
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher
from alloykit.teachers.protocol import Reading

TEXTS = tiny.texts(8, seed=3)
NO_STATES = {"perceiver", "reformer"}
DEPENDS_ON_PADDING = {"fnet", "funnel", "reformer", "t5gemma"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("odd")
    return {name: odd_architectures.classifier(root / name, name) for name in odd_architectures.CONFIGS}


def loaded(folder: Path, **reading: Any) -> HuggingFaceTeacher:
    info = HuggingFaceSpec(model=str(folder)).describe(folder.name)
    return info.load(Reading(max_length=32, device="cpu", **reading))


def test_a_text_with_another_number_of_ends_is_read_alone(folders: dict[str, Path]) -> None:
    teacher = loaded(folders["bart"])
    texts, pairs = [*TEXTS, "the [SEP] price"], [*["why"] * 4, *[None] * 5]  # [SEP] ends a text of this model
    alone = [
        teacher.answer(teacher.prepare([t], [p]), lambda n: None).logits for t, p in zip(texts, pairs, strict=True)
    ]
    seen: list[int] = []
    together = teacher.answer(teacher.prepare(texts, pairs), seen.append).logits
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-5)
    assert sum(seen) == len(texts), "each text is counted once"


@pytest.mark.parametrize("name", some_quick(odd_architectures.CONFIGS, "bart", "reformer", "gpt2"))
def test_answers_are_those_of_transformers(name: str, folders: dict[str, Path]) -> None:
    teacher = loaded(folders[name])
    assert teacher.one_length is (name in DEPENDS_ON_PADDING)
    shape = teacher.info.gives.states
    assert (shape is None) is (name in NO_STATES)
    layers = range(1 + shape.layers) if shape else ()
    found = teacher.answer(teacher.prepare(TEXTS), lambda n: None, layers=layers)
    model, words = AutoModelForSequenceClassification.from_pretrained(folders[name]).eval(), tiny.tokenizer()
    with torch.no_grad():
        alone = [model(**words([text], return_tensors="pt"), output_hidden_states=bool(shape)) for text in TEXTS]
    torch.testing.assert_close(found.logits, torch.cat([one.logits for one in alone]), rtol=1e-4, atol=1e-5)
    if shape is not None:
        states = [getattr(one, "encoder_hidden_states", None) or one.hidden_states for one in alone]
        means = torch.stack([torch.cat([each[layer].mean(1) for each in states]) for layer in layers])
        assert found.pooled is not None
        torch.testing.assert_close(found.pooled.float(), means, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", some_quick(sorted(odd_architectures.CONFIGS.keys() - NO_STATES), "bart", "gpt2"))
def test_dropout_acts(name: str, folders: dict[str, Path]) -> None:
    teacher = loaded(folders[name], dropout=0.3)
    assert teacher.info.gives.passes
    passes = teacher.sample(teacher.prepare(TEXTS), 4, 0, lambda n: None)
    assert bool((passes.std(0) > 0).all())
    assert not any(module.training for module in teacher.model.modules())


@pytest.mark.parametrize("name", ["bart", "opt"])
def test_dropout_acts_outside_attention_too(name: str, folders: dict[str, Path]) -> None:
    """As these are usually saved: attention has no dropout, and there are no dropout layers."""
    teacher = loaded(folders[name])
    assert teacher.info.config.attention_dropout == 0
    passes = teacher.sample(teacher.prepare(TEXTS), 4, 0, lambda n: None)
    assert bool((passes.std(0) > 0).all())


def test_the_rate_reaches_the_configurations_inside(folders: dict[str, Path]) -> None:
    config = loaded(folders["mpt"], dropout=0.3).model.config
    assert set(dropout_rates(config)) == {0.3}
    assert config.attn_config.attn_pdrop == 0.3
    t5gemma = odd_architectures.CONFIGS["t5gemma"]()
    set_dropout_rate(t5gemma, 0.3)
    assert {t5gemma.encoder.attention_dropout, t5gemma.decoder.attention_dropout} == {0.3}


def test_whole_layers_are_not_dropped() -> None:
    config = odd_architectures.CONFIGS["bart"]()
    config.encoder_layerdrop = 1.0
    model = AutoModelForSequenceClassification.from_config(config).eval()
    with dropout_active(model):
        assert not model.model.encoder.training, "it would drop its layers"
        assert model.model.decoder.training
        assert all(layer.training for layer in model.model.encoder.layers)
    assert not any(module.training for module in model.modules())


def test_a_teacher_that_drops_out_for_one_length_only_gives_no_passes(folders: dict[str, Path]) -> None:
    assert not HuggingFaceSpec(model=str(folders["reformer"])).describe("r").gives.passes


@pytest.mark.parametrize("name", ["fnet", "xmod", "bart"])
def test_bfloat16_where_the_architecture_computes_in_it(name: str, folders: dict[str, Path]) -> None:
    teacher = loaded(folders[name], compute_format=ComputeFormat("bfloat16"))
    expected = "bfloat16" if name == "bart" else "float32"
    assert teacher.made_of["compute_format"] == expected
    assert str(next(teacher.model.parameters()).dtype) == f"torch.{expected}"
    assert bool(teacher.answer(teacher.prepare(TEXTS), lambda n: None).logits.isfinite().all())


@pytest.mark.slow
@pytest.mark.parametrize("name", some_quick(["bart", "gemma3", "perceiver"], "bart"))
def test_a_run_with_such_a_teacher(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    other = tiny.classifier(tmp_path / "other", ["alpha", "beta"])
    student: dict[str, Any] = {"model": str(tiny.encoder(tmp_path / "student")), "layers": 1}
    run = alloykit.amalgamate(
        teachers=[str(other), str(folders[name])], texts=tiny.texts(60), student=student, device="cpu",
        training={"epochs": 1, "max_length": 16}, output=str(tmp_path / "run"),
    )  # fmt: skip
    assert set(run.predict(TEXTS[:1])[0]) >= {"label"}
    assert name in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("name", some_quick(["bart", "t5", "gemma3", "reformer"], "bart"))
def test_only_an_encoder_of_texts_is_a_student(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    teachers = [str(tiny.classifier(tmp_path / label, [label, "b"])) for label in ("a", "c")]
    recipe: dict[str, Any] = {"teachers": teachers, "texts": TEXTS, "output": str(tmp_path / "run"), "device": "cpu"}
    with pytest.raises(AlloyError, match=f"an encoder or a decoder of texts.*of the type '{name}'"):
        alloykit.amalgamate(**recipe, student={"model": str(folders[name])})
    with pytest.raises(AlloyError, match=f"an encoder or a decoder of texts.*of the type '{name}'"):
        alloykit.amalgamate(
            **recipe, student={"model": teachers[0]}, method={"name": "alloy", "encoder": str(folders[name])}
        )


@pytest.mark.parametrize("name", some_quick(sorted(tiny.SIZES), "bert", "xlnet"))
def test_padding_matters_where_it_does(name: str, tmp_path: Path) -> None:
    """XLNet reads the last token, and this tokenizer pads on the right."""
    assert loaded(tiny.classifier(tmp_path / name, ["a", "b"], name)).one_length is (name == "xlnet")


@pytest.mark.parametrize("missing", ["config.json", "tokenizer_config.json", "both"])
def test_one_of_both_names_the_token_to_pad_with(missing: str, folders: dict[str, Path], tmp_path: Path) -> None:
    folder, wanted = Path(shutil.copytree(folders["gpt2"], tmp_path / "gpt2")), loaded(folders["gpt2"])
    for name, key in (("config.json", "pad_token_id"), ("tokenizer_config.json", "pad_token")):
        if missing in (name, "both"):
            values = json.loads((folder / name).read_text())
            values.pop(key)
            (folder / name).write_text(json.dumps(values))
    if missing == "both":
        with pytest.raises(AlloyError, match="a token to pad with.*`pad_token_id` in config.json"):
            loaded(folder)
        return
    found = loaded(folder)
    answers = [t.answer(t.prepare(TEXTS), lambda n: None).logits for t in (found, wanted)]
    torch.testing.assert_close(*answers)
    assert found.tokenizer.pad_token_id == found.model.config.pad_token_id == 0


@pytest.mark.parametrize("name", some_quick(["fnet", "xmod", "deberta"], "fnet"))
@pytest.mark.slow
def test_a_student_that_computes_in_float32_only(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    teachers = [str(tiny.classifier(tmp_path / label, [label, "b"])) for label in ("a", "c")]
    run = alloykit.amalgamate(
        teachers=teachers, texts=tiny.texts(60), student={"model": str(folders[name])}, device="cpu", output=str(tmp_path / "run"),
        training={"epochs": 1, "max_length": 16, "precision": "bfloat16"}, inference={"precision": "bfloat16"},
    )  # fmt: skip
    together, alone = run.predict(TEXTS), [run.predict([text])[0] for text in TEXTS]
    assert [one["probability"] for one in together] == pytest.approx([one["probability"] for one in alone], abs=1e-5)


@pytest.mark.slow
def test_a_student_that_fails_in_training_is_named(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As DeBERTa under autocast, if it were not known to fail there."""
    monkeypatch.setattr("alloykit.precision.NO_AUTOCAST", set())
    teachers = [str(tiny.classifier(tmp_path / label, [label, "b"])) for label in ("a", "c")]
    recipe = {
        "teachers": teachers, "texts": tiny.texts(60), "student": {"model": str(folders["deberta"])}, "device": "cpu",
        "training": {"epochs": 1, "max_length": 16, "precision": "bfloat16"}, "output": str(tmp_path / "run"),
    }  # fmt: skip
    message = "can read texts in training, and DebertaFor.*RuntimeError: .*BFloat16.*precision: float32"
    for command in (alloykit.amalgamate, alloykit.plan):
        with pytest.raises(AlloyError, match=message):
            command(**recipe)  # type: ignore[operator]


@pytest.mark.slow
def test_states_of_tokens_that_were_joined_are_not_compared(folders: dict[str, Path], tmp_path: Path) -> None:
    other = str(tiny.classifier(tmp_path / "other", ["alpha", "beta"]))
    long = [" ".join(tiny.WORDS[i : i + 8]) for i in range(40)]
    with pytest.raises(AlloyError, match="a state of each token from teacher 'funnel'.*joins tokens"):
        alloykit.amalgamate(
            teachers=[other, str(folders["funnel"])], texts=long, student={"model": other}, device="cpu",
            method="dfa", training={"epochs": 1, "max_length": 16}, output=str(tmp_path / "run"),
        )  # fmt: skip


def test_a_model_that_fails_itself_is_named(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = loaded(folders["gpt2"])
    monkeypatch.setattr(teacher.model, "forward", lambda **batch: torch.zeros(2) + torch.zeros(3))
    with pytest.raises(AlloyError, match="answers of teacher 'gpt2' to a text of 3 tokens; got RuntimeError: "):
        teacher.answer(teacher.prepare(["card"]), lambda n: None)


@pytest.mark.parametrize(("name", "fewest"), [("funnel", 5), ("canine", 4)])
def test_a_short_text_is_padded_to_the_tokens_that_the_architecture_needs(
    name: str, fewest: int, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = folders[name] if name in folders else odd_architectures.canine(tmp_path / name)
    model, words = AutoModelForSequenceClassification.from_pretrained(folder).eval(), tiny.tokenizer()
    batch = words(["card"], padding="max_length", max_length=fewest, return_tensors="pt")
    assert batch["attention_mask"].sum() < fewest
    with torch.no_grad():
        expected = model(**batch).logits
    teacher, student = loaded(folder), Predictor.load(folder, device="cpu")
    found = teacher.answer(teacher.prepare(["card", TEXTS[0]]), lambda n: None, layers=[1])
    torch.testing.assert_close(found.logits[:1], expected, rtol=1e-4, atol=1e-5)
    assert found.pooled is not None
    assert bool(found.pooled.isfinite().all())
    torch.testing.assert_close(student.probabilities(["card"]), expected.softmax(-1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("absent", ["sentencepiece", "google.protobuf"])
def test_a_tokenizer_of_sentencepiece_alone(
    absent: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(folders["bart"], tmp_path / "model"))
    (folder / "spm.model").write_bytes(b"not read")
    monkeypatch.setattr(
        "alloykit.models.required_packages.importlib.util.find_spec", lambda name: None if name == absent else name
    )
    assert loaded(folder), "tokenizer.json is enough"
    (folder / "tokenizer.json").unlink()
    with pytest.raises(AlloyError, match=r"which read spm.model of.*pip install 'alloykit\[sentencepiece\]'"):
        loaded(folder)


def test_whoever_reads_with_it_reads_without_padding(folders: dict[str, Path]) -> None:
    student = Predictor.load(folders["fnet"], device="cpu")
    alone = torch.cat([read_by_student(student, [text]).probabilities for text in TEXTS])
    torch.testing.assert_close(read_by_student(student, TEXTS).probabilities, alone)
    encoder = TextEncoder(EncoderReading(ModelSpec(model=str(folders["fnet"])), "mean", 32, 4096, "cpu"))
    states = [torch.cat(list(encoder.states(load_texts(texts)))) for texts in (TEXTS, *([text] for text in TEXTS))]
    torch.testing.assert_close(states[0], torch.cat(states[1:]))


def test_batches_of_one_length_stay_so_after_a_lack_of_memory() -> None:
    seen: list[set[int]] = []

    def run(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        lengths = batch["attention_mask"].sum(1)
        seen.append(set(lengths.tolist()))
        if len(seen) == 1:
            raise torch.OutOfMemoryError
        return lengths.float().view(1, -1, 1)

    model, words = torch.nn.Embedding(100, 2), tiny.tokenizer()
    encodings = [dict(words(text)) for text in TEXTS]
    found = forward_texts(
        run, encodings, model, words, device=torch.device("cpu"), width=1, budget=Budget(40), name="m", one_length=True
    )
    assert found.flatten().tolist() == [len(one["input_ids"]) for one in encodings]
    assert all(len(lengths) == 1 for lengths in seen)


def test_token_states_are_read_without_padding_too(folders: dict[str, Path]) -> None:
    teacher, words = loaded(folders["fnet"]), tiny.tokenizer()
    stored: Any = None
    source = OnlineSource(stored, ["fnet"], {"fnet": teacher}, {"fnet": [1]}, load_texts(TEXTS), words, 32)
    together = source._states("fnet", [0, 1, 2]).tokens[0]
    for n in range(3):
        alone = source._computed("fnet", [n])[0].tokens[0][0]
        torch.testing.assert_close(together[n, : len(alone)], alone)


@pytest.mark.parametrize("name", some_quick(["gpt2", "gemma3"], "gpt2"))
def test_attention_of_a_decoder_is_not_compared(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    other = str(tiny.classifier(tmp_path / "other", ["alpha", "beta"]))
    with pytest.raises(AlloyError, match="each token to the whole text.*it is a decoder"):
        alloykit.amalgamate(
            teachers=[other, str(folders[name])], texts=tiny.texts(60), student={"model": other}, device="cpu",
            method={"name": "tinybert", "which": 1}, training={"epochs": 1, "max_length": 16}, output=str(tmp_path / "run"),
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    some_quick(
        [("bart", "NotImplementedError"), ("perceiver", "AttributeError"), ("reformer", "Error")],
        ("bart", "NotImplementedError"),
    ),
    ids=str,
)
def test_teachers_that_do_not_read_embeddings(case: tuple[str, str], folders: dict[str, Path], tmp_path: Path) -> None:
    name, words = case
    other = str(tiny.classifier(tmp_path / "other", ["alpha", "beta"]))
    with pytest.raises(AlloyError, match=f"read embeddings in place of tokens.*'{name}', which fails with .*{words}"):
        alloykit.amalgamate(
            teachers=[other, str(folders[name])], texts=tiny.texts(60), student={"model": other}, device="cpu",
            method="as_dfd", training={"epochs": 1, "max_length": 16}, output=str(tmp_path / "run"),
        )  # fmt: skip


@pytest.mark.slow
def test_states_beyond_float16_are_the_largest_of_it(folders: dict[str, Path], tmp_path: Path) -> None:
    """As those of Gemma 3, whose layers add to them and normalise them only before they use them."""
    folder = Path(shutil.copytree(folders["gpt2"], tmp_path / "large"))
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    model.transformer.wte.weight.data *= 1e9
    model.save_pretrained(folder)
    teacher = loaded(folder)
    found = teacher.answer(teacher.prepare(TEXTS), lambda n: None, layers=(0, 1))
    reading = EncoderReading(ModelSpec(model=str(folder)), "mean", 32, 4096, "cpu")
    of_encoder = torch.cat(list(TextEncoder(reading).states(load_texts(TEXTS))))
    assert found.pooled is not None
    assert found.pooled.abs().max() == torch.finfo(torch.float16).max
    assert bool(of_encoder.isfinite().all())
