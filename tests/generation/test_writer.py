"""A language model that writes: its tokens of beginning and end, its limits, and what it leaves as it was."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch

from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.steering import Steering
from alloykit.generation.writer import DOCUMENT, MESSAGE, FiniteScores, Writer, log_probabilities
from alloykit.teachers.protocol import Answerer


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    folder = tmp_path_factory.mktemp("writer") / "lm"
    tiny.language_model(folder)
    values = {"language_model": str(folder), "candidates": 999, "top_k": 6, "max_tokens": 10, "min_tokens": 3}
    return Writer(GenerationOptions.model_validate(values), "cpu")


def answering(logits: torch.Tensor) -> Answerer:
    """A teacher that gives these logits to any texts."""
    return SimpleNamespace(  # type: ignore[return-value]
        prepare=lambda texts: texts, answer=lambda texts, _: SimpleNamespace(logits=logits[: len(texts)]),
        info=SimpleNamespace(name="t", labels=("a", "b")),
    )  # fmt: skip


def test_writing_leaves_torchs_generator_as_it_was(writer: Writer) -> None:
    """And candidates that are more than the vocabulary are the whole vocabulary."""
    before = torch.get_rng_state()
    texts = writer.write(answering(torch.zeros(10**4, 2)), "b", 3, seed=0)
    assert torch.equal(torch.get_rng_state(), before)
    assert [text.confidence for text in texts] == [0.5] * 3
    assert writer.reads > 0


def test_texts_have_their_fewest_tokens_and_no_prompt(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    options = writer.options.model_copy(update={"steer": "none", "min_tokens": 10})
    monkeypatch.setattr(writer, "options", options)
    written: list[list[int]] = []
    monkeypatch.setattr(writer.tokenizer, "batch_decode", lambda rows, **_: written.extend(rows.tolist()) or ["a"] * 40)
    writer.write(answering(torch.zeros(40, 2)), "b", 40, seed=0)
    assert {len(row) for row in written} == {10}
    assert not {token for row in written for token in row} & set(writer.stops)


def test_a_model_without_a_padding_token_writes(tmp_path: Path) -> None:
    tiny.language_model(tmp_path)
    about = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({k: v for k, v in about.items() if k != "pad_token"}))
    values = {"language_model": str(tmp_path), "steer": "none", "max_tokens": 10}
    writer = Writer(GenerationOptions.model_validate(values), "cpu")
    assert writer.tokenizer.pad_token == writer.tokenizer.eos_token
    assert len(writer.write(answering(torch.zeros(9, 2)), "a", 2, seed=0)) == 2


def test_texts_depend_on_their_own_seed_only(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    def texts(seed: int) -> list[str]:
        return [text.text for text in writer.write(answering(torch.zeros(10**4, 2)), "b", 3, seed)]

    torch.manual_seed(1)
    first = texts(0)
    torch.manual_seed(2)
    assert texts(0) == first
    assert texts(1) != first
    monkeypatch.setattr(writer.tokenizer, "batch_decode", lambda rows, **_: [" late card\n"] * len(rows))
    assert texts(0) == ["late card"] * 3


def test_prompt_and_text_together_may_fill_all_positions() -> None:
    options = SimpleNamespace(max_tokens=45, language_model=SimpleNamespace(model="m"))
    config = SimpleNamespace(max_position_embeddings=48)
    part: Any = SimpleNamespace(model=SimpleNamespace(config=config), options=options, _prompt=lambda label: [2, 7])
    Writer._require_room(part, "")
    options.max_tokens = 46
    with pytest.raises(
        AlloyError, match=r"the 48 tokens of 'm'; got `max_tokens: 46` and a prompt, 49 together. Set .*45}`"
    ):
        Writer._require_room(part, "")
    config.max_position_embeddings = None
    Writer._require_room(part, "")


def test_a_teacher_without_an_answer_takes_no_side() -> None:
    found = log_probabilities(answering(torch.tensor([[math.nan, math.nan], [0.0, math.log(3.0)]])), ["x", "y", "x"])
    torch.testing.assert_close(found.exp(), torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]))


@pytest.mark.parametrize(
    ("bos", "eos", "own", "start", "stops"),
    [
        (2, 3, 3, 2, [3]),
        (2, 3, [3, 9], 2, [3, 9]),
        (2, 3, None, 2, []),
        (None, 3, None, 3, [3]),  # the token before a text also ends one
    ],
)
def test_where_a_text_begins_and_ends(bos: int | None, eos: int, own: Any, start: int, stops: list[int]) -> None:
    words = SimpleNamespace(bos_token_id=bos, eos_token_id=eos, chat_template=None, get_vocab=dict)
    options = SimpleNamespace(language_model=SimpleNamespace(model="m"), start_token=None)
    model = SimpleNamespace(generation_config=SimpleNamespace(eos_token_id=own))
    part: Any = SimpleNamespace(tokenizer=words, options=options, model=model)
    part.start = Writer._start(part)
    assert part.start == start
    assert Writer._stops(part) == stops
    words.bos_token_id = words.eos_token_id = None
    with pytest.raises(AlloyError, match=r"got neither a bos nor an eos token.*start_token"):
        Writer._start(part)


@pytest.mark.parametrize(
    ("template", "bos", "start"),
    [(None, MESSAGE, 2), ("{{ m }}", "<s>", 2), ("{{ m }}", MESSAGE, 7), ("{{ m }}", None, 7)],
)
def test_a_bos_token_that_opens_a_message_begins_no_document(template: str | None, bos: str | None, start: int) -> None:
    words = SimpleNamespace(bos_token=bos, bos_token_id=2, chat_template=template, get_vocab=lambda: {DOCUMENT: 7})
    options = SimpleNamespace(language_model=SimpleNamespace(model="m"), start_token=None)
    part: Any = SimpleNamespace(tokenizer=words, options=options)
    assert Writer._start(part) == start


def test_perplexity_of_long_texts_and_of_impossible_ones(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "late card " * 40
    cut = writer.tokenizer.decode(writer.tokenizer(words).input_ids[: writer._max_positions - 1])
    assert writer.perplexity([words]) == pytest.approx(writer.perplexity([cut])), "as much as it has positions for"
    monkeypatch.setattr("alloykit.generation.writer.TOKENS_PER_BATCH", 1)
    alone = writer.perplexity([words, "late card", "late"])
    monkeypatch.undo()
    assert writer.perplexity([words, "late card", "late"]) == pytest.approx(alone, rel=1e-4)

    def certain_of_another(ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return SimpleNamespace(logits=torch.nn.functional.one_hot(ids * 0, len(writer.tokenizer)) * 1e6)

    monkeypatch.setattr(writer, "model", _Callable(certain_of_another, writer.model.config))
    assert writer.perplexity(["late card"]) == [math.inf]


class _Callable:
    def __init__(self, forward: Any, config: Any) -> None:
        self.forward, self.config = forward, config

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_scores_of_which_no_token_can_be_drawn(value: float) -> None:
    check, scores = FiniteScores("m"), torch.tensor([[0.0, -math.inf], [1.0, 2.0]])
    assert check(torch.zeros(2, 1), scores) is scores, "minus infinity leaves a token out"
    scores[1, 0] = value
    with pytest.raises(AlloyError, match="finite scores from the language model 'm'; got NaN or infinity"):
        check(torch.zeros(2, 1), scores)


def test_each_text_that_is_read_counts_once(writer: Writer) -> None:
    steering = Steering(
        writer.tokenizer, lambda texts: torch.zeros(len(texts), 1), torch.tensor([0, 0]),
        candidates=3, strength=1.0, every=1, prompt=1,
    )  # fmt: skip
    steering(torch.full((2, 2), 7), torch.arange(2 * len(writer.tokenizer)).reshape(2, -1).float())
    assert steering.reads == 3, "two equal texts"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"top_k": []}, "top_k must not be an empty list"),
        ({"temperature": []}, "temperature must not be an empty list"),
        ({"top_k": [3, 12]}, r"top_k \(\[3, 12\]\) must be below candidates \(12\)"),
        ({"steer": "both", "prompt": "a", "top_k": 5}, "both needs a prompt with"),
    ],
)
def test_options_that_cannot_be(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GenerationOptions.model_validate({"language_model": "x", "candidates": 12} | {"top_k": 6} | change)
    unsteered = {"language_model": "x", "candidates": 12, "top_k": 40, "steer": "none"}
    assert GenerationOptions.model_validate(unsteered).top_k == 40, "without candidates it has no bound"
    assert GenerationOptions.model_validate(unsteered | {"min_tokens": 9, "max_tokens": 9}).max_tokens == 9
