"""Weighted decoding against the plain loop that asks the teacher about one candidate at a time (StrataNet, Eq. 1)."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.sampling import Sampling
from alloykit.generation.steering import Steering
from alloykit.generation.writer import Writer, log_probabilities
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher, read_teacher_info
from alloykit.teachers.protocol import Reading


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("generation")
    tiny.language_model(place / "lm")
    tiny.classifier(place / "teacher", ["refund", "charge", "invoice"], "roberta", seed=2)
    return place


@pytest.fixture(scope="module")
def teacher(folder: Path) -> HuggingFaceTeacher:
    return read_teacher_info(HuggingFaceSpec(model=str(folder / "teacher")), "teacher").load(Reading(max_length=32))


def options(folder: Path, **more: Any) -> GenerationOptions:
    values = {
        "language_model": str(folder / "lm"),
        "candidates": 12,
        "top_k": 6,
        "max_tokens": 10,
        "min_tokens": 3,
        "batch_size": 4,
    }
    return GenerationOptions.model_validate(values | more)


@pytest.mark.parametrize(("strength", "prompt"), [(1.0, 1), (2.5, 3)])
def test_scores_are_those_of_the_plain_loop(
    folder: Path, teacher: HuggingFaceTeacher, strength: float, prompt: int
) -> None:
    words = AutoTokenizer.from_pretrained(folder / "lm")
    ids = torch.randint(6, 40, (3, 7), generator=torch.Generator().manual_seed(1))
    scores = torch.randn(3, len(words), generator=torch.Generator().manual_seed(2))
    classes = torch.tensor([2, 0, 1])
    steering = Steering(
        words,
        lambda texts: log_probabilities(teacher, texts),
        classes,
        candidates=5,
        strength=strength,
        every=1,
        prompt=prompt,
    )
    found = steering(ids, scores)
    assert steering.reads == 15
    for b in range(3):
        logs = torch.log_softmax(scores[b].double(), -1)
        top = set(logs.topk(5).indices.tolist())
        for v in range(len(words)):
            if v not in top:
                assert found[b, v] == -math.inf
                continue
            text = words.decode([*ids[b, prompt:].tolist(), v], skip_special_tokens=True)
            batch = teacher.batch(teacher.encode([text]))
            p = torch.softmax(teacher.model(**batch).logits[0].double(), -1)[classes[b]]
            assert float(found[b, v]) == pytest.approx(float(logs[v]) + strength * math.log(float(p)), abs=1e-4)


def test_between_its_turns_the_teacher_is_not_asked(folder: Path) -> None:
    words, asked = AutoTokenizer.from_pretrained(folder / "lm"), []

    def score(texts: Any) -> torch.Tensor:
        asked.append(len(texts))
        return torch.zeros(len(texts), 2)

    steering = Steering(words, score, torch.tensor([0]), candidates=4, strength=1.0, every=3, prompt=1)
    scores = torch.randn(1, len(words))
    for length in range(1, 9):
        out = steering(torch.full((1, length), 7), scores)
        assert torch.equal(out, scores) is ((length - 1) % 3 != 0)
    assert asked == [4, 4, 4]
    unsteered = Steering(words, score, torch.tensor([0]), candidates=4, strength=0.0, every=1, prompt=1)
    assert unsteered(torch.full((1, 2), 7), scores) is scores


@pytest.mark.slow
def test_the_teacher_gets_more_of_what_it_wants(folder: Path, teacher: HuggingFaceTeacher) -> None:
    """Control rises with γ; the same seed gives the same texts; lengths are kept."""
    control = []
    for strength in (0.0, 4.0):
        writer = Writer(options(folder, strength=strength), "cpu")
        texts = [t for label in teacher.info.labels for n in range(4) for t in writer.write(teacher, label, 8, seed=n)]
        control.append(sum(t.predicted == t.label for t in texts) / len(texts))
        assert all(t.confidence <= 1 and t.perplexity > 1 for t in texts)
        assert all(len(t.text.split()) <= 10 for t in texts)
    assert control[1] > control[0] + 0.2
    again = Writer(options(folder, strength=4.0), "cpu")
    assert again.write(teacher, "invoice", 8, seed=3) == writer.write(teacher, "invoice", 8, seed=3)
    assert again.write(teacher, "invoice", 8, seed=4) != writer.write(teacher, "invoice", 8, seed=3)


def test_confidence_is_what_the_teacher_says_of_the_whole_text(folder: Path, teacher: HuggingFaceTeacher) -> None:
    texts = Writer(options(folder), "cpu").write(teacher, "charge", 5, seed=0)
    p = log_probabilities(teacher, [t.text for t in texts]).exp()
    assert [t.confidence for t in texts] == pytest.approx(p[:, 1].tolist(), abs=1e-6)
    assert [t.predicted for t in texts] == [teacher.info.labels[int(i)] for i in p.argmax(-1)]


def test_perplexity_is_the_language_models_own(folder: Path, teacher: HuggingFaceTeacher) -> None:
    writer = Writer(options(folder), "cpu")
    model, words = (
        AutoModelForCausalLM.from_pretrained(folder / "lm").eval(),
        AutoTokenizer.from_pretrained(folder / "lm"),
    )
    texts = ["refund my money", "late", "the courier was late again please"]
    for text, found in zip(texts, writer.perplexity(texts), strict=True):
        ids = [2, *words(text).input_ids]
        with torch.no_grad():
            logs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        mean = sum(float(logs[t, ids[t + 1]]) for t in range(len(ids) - 1)) / (len(ids) - 1)
        assert found == pytest.approx(math.exp(-mean), rel=1e-4)
    assert writer.perplexity([""]) == [math.inf]


def test_equal_continuations_are_read_once(
    folder: Path, teacher: HuggingFaceTeacher, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    whole = teacher.encode
    monkeypatch.setattr(teacher, "encode", lambda texts, *more: read.append(len(texts)) or whole(texts, *more))
    found = log_probabilities(teacher, ["a b", "late", "a b"])
    assert read == [2]
    assert torch.equal(found[0], found[2])


def test_a_prompt_is_followed_and_not_kept(folder: Path, teacher: HuggingFaceTeacher) -> None:
    writer = Writer(options(folder, steer="prompt", prompt="where is my {label}"), "cpu")
    assert writer._prompt("refund") == [2, *writer.tokenizer("where is my refund").input_ids]
    texts = writer.write(teacher, "refund", 6, seed=0)
    assert writer.reads == 0, "the teacher only judges the finished texts"
    assert len(texts) == 6


def test_a_label_is_called_by_its_description(folder: Path) -> None:
    more = {"steer": "prompt", "prompt": "where is my {label}", "descriptions": {"refund": "late card"}}
    writer = Writer(options(folder, **more), "cpu")
    assert writer.tokenizer.decode(writer._prompt("refund")[1:]).split() == ["where", "is", "my", "late", "card"]
    assert writer.tokenizer.decode(writer._prompt("charge")[1:]).split() == ["where", "is", "my", "charge"]


@pytest.mark.parametrize(
    ("described", "hint"),
    [("late card " * 20, r"max_tokens: [1-9]"), ("late card " * 30, "Make the prompt shorter")],
)
def test_a_long_description_is_refused_before_texts_are_written(folder: Path, described: str, hint: str) -> None:
    more = {"steer": "prompt", "prompt": "my {label}", "max_tokens": 10, "descriptions": {"refund": described}}
    with pytest.raises(AlloyError, match=rf"fit into the 48 tokens.*for label 'refund'.*{hint}"):
        Writer(options(folder, **more), "cpu")


def test_a_long_name_of_a_label_is_refused(folder: Path, teacher: HuggingFaceTeacher) -> None:
    writer = Writer(options(folder, steer="prompt", prompt="my {label}"), "cpu")
    with pytest.raises(AlloyError, match=r"fit into the 48 tokens"):
        writer.write(teacher, "late card " * 30, 2, seed=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"descriptions": {"refund": "money back"}}, "`steer: teacher` has none"),
        ({"steer": "prompt", "prompt": "{label}", "descriptions": {"refund": " "}}, "label 'refund' is empty"),
        ({"top_k": 12}, "top_k.*below candidates"),
        ({"min_tokens": 20}, "min_tokens.*max_tokens"),
        ({"steer": "prompt"}, "prompt needs a prompt with"),
        ({"steer": "both"}, "both needs a prompt with"),
        ({"gamma": 1}, "Extra inputs"),
    ],
)
def test_wrong_options(folder: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        options(folder, **change)


def test_texts_that_do_not_fit_are_refused(folder: Path) -> None:
    with pytest.raises(AlloyError, match=r"fit into the 48 tokens.*max_tokens: 46"):
        Writer(options(folder, max_tokens=90), "cpu")


def test_an_instruction_tuned_model_is_asked_as_it_was_taught_to_be(folder: Path, teacher: HuggingFaceTeacher) -> None:
    asking = Writer(options(folder, steer="prompt", prompt="a {label} card"), "cpu")
    plain = asking._prompt("refund")
    asking.tokenizer.chat_template = (
        "{% for m in messages %}account {{ m.content }}{% endfor %}{% if add_generation_prompt %} late{% endif %}"
    )
    asked = asking._prompt("refund")
    assert asking.tokenizer.decode(plain[1:]).split() == ["a", "refund", "card"]
    assert asking.tokenizer.decode(asked).split() == ["account", "a", "refund", "card", "late"]
    steered = Writer(options(folder, prompt="a {label} card"), "cpu")
    steered.tokenizer.chat_template = asking.tokenizer.chat_template
    assert steered._prompt("refund") == plain, "steered by the teacher it is asked nothing"
    assert len(asking.write(teacher, "refund", 2, seed=0)) == 2


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What each batch samples with, filled as batches are written."""
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr("alloykit.generation.writer.Sampling", lambda **k: seen.append(k) or Sampling(**k))
    return seen


@pytest.mark.slow
def test_each_batch_draws_one_of_several_settings(
    folder: Path, teacher: HuggingFaceTeacher, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, seen = (
        Writer(options(folder, temperature=[0.5, 1.5], top_k=[3, 5], top_p=[0.8, 1.0]), "cpu"),
        drawn(monkeypatch),
    )
    for seed in [*range(12), 3]:
        writer.write(teacher, "refund", 1, seed)
    assert {k["temperature"] for k in seen} == {0.5, 1.5}
    assert {k["top_k"] for k in seen} == {3, 5}
    assert {k["top_p"] for k in seen} == {0.8, 1.0}
    assert seen[3] == seen[-1], "the same for the same seed"


@pytest.mark.slow
def test_settings_are_drawn_independently_of_each_other(
    folder: Path, teacher: HuggingFaceTeacher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pair of values occurs, about equally often; were the draws one and the same, two values would only meet on a diagonal."""
    as_list = {"temperature": [0.6, 0.8, 1.2], "top_k": [3, 5, 7], "top_p": [0.8, 0.9, 1.0]}
    writer, seen = Writer(options(folder, **as_list), "cpu"), drawn(monkeypatch)
    monkeypatch.setattr(writer.model, "generate", lambda *a, **k: torch.full((1, 2), 7))
    monkeypatch.setattr(writer, "perplexity", lambda texts: [1.0] * len(texts))
    for seed in range(450):
        writer.write(teacher, "refund", 1, seed)
    for one, other in combinations(as_list, 2):
        pairs = Counter((k[one], k[other]) for k in seen)
        assert len(pairs) == 9, f"{one} and {other} are drawn together"
        assert min(pairs.values()) > 25, "of 50 that are expected of each"


@pytest.mark.parametrize("size", [40, 3000])
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1.0, 0, 0.9), (0.7, 7, 0.6), (1.6, 0, 0.999), (1.0, 5, 1.0)]
)
def test_sampling_keeps_what_transformers_keeps(size: int, temperature: float, top_k: int, top_p: float) -> None:
    ids = torch.zeros(6, 1, dtype=torch.long)
    scores = 3 * torch.randn(6, size, generator=torch.Generator().manual_seed(size))
    scores[0] = 0.0  # a flat distribution, whose nucleus is nearly everything
    scores[1, 1:] = float("-inf")
    wanted = TemperatureLogitsWarper(temperature)(ids, scores) if temperature != 1.0 else scores
    wanted = TopKLogitsWarper(top_k)(ids, wanted) if top_k else wanted
    wanted = TopPLogitsWarper(top_p)(ids, wanted) if top_p < 1 else wanted
    found = Sampling(temperature, top_k, top_p)(ids, scores)
    different = (found != wanted).sum(-1)
    rounding = 0 if top_p < 0.99 else 2  # tokens at the edge of a nucleus of thousands
    assert int(different[1:].max()) <= rounding
    assert abs(int(found[0].isfinite().sum()) - int(wanted[0].isfinite().sum())) <= 2, "equal probabilities"


def test_the_teacher_reads_only_the_nucleus(folder: Path) -> None:
    words, read = AutoTokenizer.from_pretrained(folder / "lm"), []

    def score(texts: Any) -> torch.Tensor:
        read.append(len(texts))
        return torch.zeros(len(texts), 1)

    probabilities = torch.full((2, len(words)), 1e-9)
    probabilities[0, 10:13] = torch.tensor([0.5, 0.3, 0.2])
    probabilities[1, 20] = 1.0
    steering = Steering(words, score, torch.tensor([0, 0]), candidates=5, strength=1.0, every=1, prompt=1, top_p=0.75)
    found = steering(torch.full((2, 3), 7), probabilities.log())
    assert read == [3]
    assert found[0].isfinite().nonzero().flatten().tolist() == [10, 11]
    assert found[1].isfinite().nonzero().flatten().tolist() == [20]


def test_finished_texts_are_not_read(folder: Path) -> None:
    words, read = AutoTokenizer.from_pretrained(folder / "lm"), []

    def score(texts: Any) -> torch.Tensor:
        read.append(len(texts))
        return torch.zeros(len(texts), 1)

    steering = Steering(words, score, torch.tensor([0, 0]), candidates=4, strength=1.0, every=1, prompt=1, stops=[3])
    scores = torch.randn(2, len(words), generator=torch.Generator().manual_seed(0))
    found = steering(torch.tensor([[2, 7, 3, 3], [3, 7, 8, 9]]), scores)
    assert torch.equal(found[0], scores[0]), "its end is written"
    assert int(found[1].isfinite().sum()) == 4, "the same token before the text ends nothing"
    assert read == [4]
    assert steering(torch.tensor([[2, 3], [2, 3]]), scores) is scores
    assert read == [4]


def test_bfloat16_steers_and_judges_in_float32(folder: Path, teacher: HuggingFaceTeacher) -> None:
    writer = Writer(options(folder, precision="bfloat16", strength=4.0, candidates_top_p=0.95), "cpu")
    texts = writer.write(teacher, "invoice", 6, seed=0)
    assert writer.model.dtype == torch.bfloat16
    p = log_probabilities(teacher, [t.text for t in texts]).exp()[:, 2]
    assert [t.confidence for t in texts] == pytest.approx(p.tolist(), abs=1e-6)
    assert texts == writer.write(teacher, "invoice", 6, seed=0)


CHAT = "{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}"


def chat_model(folder: Path, place: Path, **special: str) -> Path:
    """The tiny language model as a chat model, with the tokens of ChatML at ids that the model has."""
    shutil.copytree(folder / "lm", place)
    words = json.loads((place / "tokenizer.json").read_text())
    ids = {"<|endoftext|>": 30, "<|im_start|>": 31, "<|im_end|>": 32}
    vocabulary = {token: i for token, i in words["model"]["vocab"].items() if i not in ids.values()} | ids
    words["model"]["vocab"] = vocabulary
    form = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    words["added_tokens"] += [form | {"id": i, "content": token} for token, i in ids.items()]
    (place / "tokenizer.json").write_text(json.dumps(words))
    about = json.loads((place / "tokenizer_config.json").read_text())
    (place / "tokenizer_config.json").write_text(json.dumps(about | special | {"chat_template": CHAT}))
    return place


def test_texts_of_a_chat_model_begin_as_documents_do(folder: Path, tmp_path: Path) -> None:
    tokens = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}
    model = str(chat_model(folder, tmp_path / "chat", **tokens))
    writer = Writer(options(folder, language_model=model), "cpu")
    assert writer._prompt("refund") == [30], "its bos token would open a message"
    assert 30 in writer.stops, "the same token ends a document"
    assert Writer(options(folder, language_model=model, start_token="<|im_start|>"), "cpu")._prompt("refund") == [31]
    with pytest.raises(AlloyError, match=r"start_token.*got: '<s>'|start_token`.*'<s>'"):
        Writer(options(folder, language_model=model, start_token="<s>"), "cpu")


@pytest.mark.slow
def test_prompted_and_steered(folder: Path, teacher: HuggingFaceTeacher) -> None:
    """The teacher steers the answer to a message, and does not read the message."""
    control = []
    for steer in ("prompt", "both"):
        writer = Writer(options(folder, steer=steer, prompt="where is my {label}", strength=4.0), "cpu")
        writer.tokenizer.chat_template = "{% for m in messages %}account {{ m.content }}{% endfor %}"
        assert len(writer._prompt("refund")) == len(writer.tokenizer("account where is my refund").input_ids)
        texts = [t for label in teacher.info.labels for t in writer.write(teacher, label, 16, seed=1)]
        control.append(sum(t.predicted == t.label for t in texts) / len(texts))
        assert (writer.reads > 0) is (steer == "both")
    assert control[1] > control[0] + 0.2
