"""Weighted decoding against the plain loop that asks the teacher about one candidate at a time (StrataNet, Eq. 1)."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.steering import Steering
from alloykit.generation.writer import Writer, log_probabilities
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher, read_teacher_info


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("generation")
    tiny.language_model(place / "lm")
    tiny.classifier(place / "teacher", ["refund", "charge", "invoice"], "roberta", seed=2)
    return place


@pytest.fixture(scope="module")
def teacher(folder: Path) -> HuggingFaceTeacher:
    return HuggingFaceTeacher.load(
        read_teacher_info(HuggingFaceSpec(model=str(folder / "teacher")), "teacher"), max_length=32
    )


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"top_k": 12}, "top_k.*below candidates"),
        ({"min_tokens": 20}, "min_tokens.*max_tokens"),
        ({"steer": "prompt"}, "prompt with"),
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


def test_each_batch_draws_one_of_several_settings(
    folder: Path, teacher: HuggingFaceTeacher, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, seen = Writer(options(folder, temperature=[0.5, 1.5], top_k=[3, 5], top_p=[0.8, 1.0]), "cpu"), []
    real = writer.model.generate
    monkeypatch.setattr(
        writer.model,
        "generate",
        lambda *a, **k: seen.append((k["temperature"], k["top_k"], k["top_p"])) or real(*a, **k),
    )
    for seed in [*range(12), 3]:
        writer.write(teacher, "refund", 1, seed)
    assert {t for t, _, _ in seen} == {0.5, 1.5}
    assert {k for _, k, _ in seen} == {3, 5}
    assert {p for _, _, p in seen} == {0.8, 1.0}
    assert seen[3] == seen[-1], "the same for the same seed"


def test_settings_are_drawn_independently_of_each_other(
    folder: Path, teacher: HuggingFaceTeacher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pair of values occurs, about equally often; were the draws one and the same, two values would only meet on a diagonal."""
    as_list = {"temperature": [0.6, 0.8, 1.2], "top_k": [3, 5, 7], "top_p": [0.8, 0.9, 1.0]}
    writer, seen = Writer(options(folder, **as_list), "cpu"), []
    monkeypatch.setattr(writer.model, "generate", lambda *a, **k: seen.append(k) or torch.full((1, 2), 7))
    monkeypatch.setattr(writer, "perplexity", lambda texts: [1.0] * len(texts))
    for seed in range(450):
        writer.write(teacher, "refund", 1, seed)
    for one, other in combinations(as_list, 2):
        pairs = Counter((k[one], k[other]) for k in seen)
        assert len(pairs) == 9, f"{one} and {other} are drawn together"
        assert min(pairs.values()) > 25, "of 50 that are expected of each"
