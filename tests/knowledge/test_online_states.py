"""Token states of teachers in memory: what is read alone, kept, refused and aligned. And states of an encoder: when they are computed again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from knowing import SENTENCES, read, swept, table

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.knowledge.online import encoder_states, online_source
from alloykit.knowledge.online.encoder_states import EncoderReading, text_states
from alloykit.knowledge.online.online_source import OnlineSource
from alloykit.knowledge.online.token_alignment import TokenSpans, overlaps
from alloykit.knowledge.online.token_state_cache import States, TokenStateCache
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.teachers.protocol import Reading

NONE = (-1, 0, 0)


@pytest.fixture
def teacher(billing: HuggingFaceInfo) -> Any:
    """It notes how many texts it reads in each of its passes."""
    found: Any = billing.load(Reading(max_length=32))
    found.passes = []
    found.model.register_forward_pre_hook(
        lambda _, args, inputs: found.passes.append(len(inputs["input_ids"])), with_kwargs=True
    )
    return found


@pytest.fixture
def source(billing: HuggingFaceInfo, teacher: Any, tmp_path: Path) -> OnlineSource:
    known = read(swept(tmp_path, [billing]), ["billing"])
    teacher.passes.clear()
    return OnlineSource(
        known, ["billing"], {"billing": teacher}, {"billing": (1, 2)}, table(SENTENCES), teacher.tokenizer, 32
    )


def test_a_teacher_whose_answers_change_with_padding_reads_one_text_after_another(
    source: OnlineSource, teacher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = source.rows([5, 30]).teachers[0]
    assert together.attention_scores is None
    monkeypatch.setattr(teacher, "one_length", True)
    alone = source.rows([5, 30]).teachers[0]
    source.keep([7, 8])
    assert teacher.passes == [2, 1, 1, 1, 1]
    assert torch.equal(alone.token_mask, together.token_mask)
    for one, other in zip(alone.token_states, together.token_states, strict=True):
        real = together.token_mask
        torch.testing.assert_close(one[real], other[real], rtol=1e-4, atol=1e-5)
        assert not one[~real].any(), "zeros where padding is"


def test_the_message_counts_texts_that_all_teachers_have_read(
    source: OnlineSource, teacher: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    two = OnlineSource(
        source.stored, ["a", "b"], {"a": teacher, "b": teacher}, {"a": (1,), "b": (1,)}, source.texts, teacher.tokenizer, 32
    )  # fmt: skip
    two.keep([5, 30, 12])
    two.token_state_cache.room = 0
    two.keep([6])
    assert "than those of 3 texts" in capsys.readouterr().err


def test_a_teacher_that_joins_tokens_is_refused(source: OnlineSource, monkeypatch: pytest.MonkeyPatch) -> None:
    real = online_source.layers_of
    monkeypatch.setattr(online_source, "layers_of", lambda output: [states[:, ::2] for states in real(output)])
    with pytest.raises(AlloyError, match="a state of each token from teacher 'billing'"):
        source.rows([5])


def test_pairs_are_as_long_as_both_texts() -> None:
    """A text without a pair may be among them."""
    pairs = [("four", None), ("a", "seven c"), ("three", "a"), ("b", "c")]
    source: Any = OnlineSource([], [], {}, {}, table(pairs), None, 32)  # type: ignore[arg-type]
    assert list(source._batches(range(4))) == [[3, 0, 2, 1]]


def test_the_cache_has_a_quarter_of_the_free_space(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/tmp")
    states = States(torch.ones(3).bool(), (torch.ones(3, 2),), (torch.ones(1, 3, 3),))
    size = 3 + 4 * 3 * 2 + 4 * 9
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=4 * 2 * size))
    cache = TokenStateCache()
    assert [cache.put(("t", n), states) for n in range(3)] == [True, True, False]
    found = cache.get(("t", 1))
    assert found is not None
    assert torch.equal(found.tokens[0], states.tokens[0])
    assert torch.equal(found.scores[0], states.scores[0])
    assert found.mask.tolist() == [True] * 3
    assert cache.get(("t", 2)) is None


def test_first_tokens_are_compared_if_both_stand_for_the_whole_text() -> None:
    student = TokenSpans((1, 5), (NONE, (0, 0, 3)))
    assert overlaps(student, TokenSpans((9, 8), (NONE, (0, 0, 3)))) == [[0], [1]]
    assert overlaps(student, TokenSpans((9,), ((0, 0, 3),))) == [[], [0]]
    assert overlaps(TokenSpans((9,), ((0, 0, 3),)), student) == [[1]]
    assert overlaps(TokenSpans((), ()), student) == []


def test_states_of_an_encoder_that_is_read_in_another_way_are_computed_again(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, path, made = table(SENTENCES[:6]), tmp_path / "states.safetensors", list[EncoderReading]()
    encoder, real = ModelSpec(model=str(models["encoder"])), encoder_states.TextEncoder
    monkeypatch.setattr(encoder_states, "TextEncoder", lambda reading: made.append(reading) or real(reading))  # type: ignore[func-returns-value]
    reading = EncoderReading(encoder, "cls", 16, 256, "cpu")
    changes: list[dict[str, Any]] = [{"pooling": "mean"}, {"max_length": 4}, {"tokens_per_batch": 128}]
    for n, change in enumerate(changes):
        first, again = (text_states(reading, texts, path)[torch.arange(6)] for _ in range(2))
        assert torch.equal(first, again)
        other = text_states(replace(reading, **change), texts, path)[torch.arange(6)]
        assert torch.equal(first, other) is ("tokens_per_batch" in change)
        assert len(made) == 2 * (n + 1)
    text_states(replace(reading, **changes[-1]), table(SENTENCES[1:7]), path)
    assert len(made) == 2 * len(changes) + 1
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]])
    mask = torch.tensor([[1, 1, 0]])
    assert encoder_states._pooled(states, mask, "cls").tolist() == [[1, 2]]
    assert encoder_states._pooled(states, mask, "mean").tolist() == [[2, 3]]
    assert encoder_states._pooled(states.half(), mask, "mean").dtype == torch.float32
