"""Token states that are kept need no teacher pass, and are the same."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from knowing import SENTENCES, read, swept, table

from alloykit.knowledge.online.online_source import OnlineSource
from alloykit.models.attention import use_eager_attention
from alloykit.models.tokens import pad
from alloykit.outputs import TeacherRows
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.teachers.protocol import Reading

Make = Callable[..., tuple[OnlineSource, list[int]]]


@pytest.fixture
def make(billing: HuggingFaceInfo, tmp_path: Path) -> Make:
    """Live knowledge of one teacher, with attention scores, and how many texts it read in each of its passes."""
    store = swept(tmp_path, [billing])

    def made(student: Any = None) -> tuple[OnlineSource, list[int]]:
        teacher, passes = billing.load(Reading(max_length=32)), list[int]()
        use_eager_attention(teacher.model)
        teacher.model.register_forward_pre_hook(
            lambda _, args, inputs: passes.append(len(inputs["input_ids"])), with_kwargs=True
        )
        known, layers = read(store, ["billing"]), {"billing": (0, 1, 3)}
        tokenizer = student or teacher.tokenizer
        return OnlineSource(
            known, ["billing"], {"billing": teacher}, layers, table(SENTENCES), tokenizer, 32, scores=True
        ), passes

    return made


def said(live: OnlineSource, picks: list[int]) -> TeacherRows:
    return live.rows(torch.tensor(picks)).teachers[0]


def same(a: TeacherRows, b: TeacherRows) -> None:
    """Equal where tokens are; padding is anybody's."""
    assert a.token_mask is not None
    assert b.token_mask is not None
    assert torch.equal(a.token_mask, b.token_mask)
    real = a.token_mask
    both = real[:, None, :, None] & real[:, None, None, :]
    for one, other in zip(a.token_states or (), b.token_states or (), strict=True):
        torch.testing.assert_close(one[real], other[real], rtol=1e-4, atol=1e-5)
    for one, other in zip(a.attention_scores or (), b.attention_scores or (), strict=True):
        torch.testing.assert_close(*(s.masked_fill(~both, 0) for s in (one, other)), rtol=1e-4, atol=1e-5)


def other_words() -> Any:
    """A tokenizer of other tokens than the teacher's."""
    from tokenizers import pre_tokenizers

    found = tiny.tokenizer()
    found.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split(" card", "isolated")
    return found


@pytest.mark.parametrize("student", ["own", "left", "other"])
def test_a_text_is_read_once(make: Make, billing: HuggingFaceInfo, student: str) -> None:
    tokenizer: Any = None
    if student == "left":
        tokenizer = billing.load(Reading(max_length=32)).tokenizer
        tokenizer.padding_side = "left"
    if student == "other":
        tokenizer = other_words()
    live, passes = make(tokenizer)
    live.keep(range(len(SENTENCES) - 1))
    assert passes == [32, 7]
    fresh, again = make(tokenizer)
    for picks in ([5, 30, 12], [30, 5, 5], [7, 39, 39]):
        found = said(live, picks)
        same(found, said(fresh, picks))
        assert found.token_states is not None
        assert all(s.dtype == torch.float32 for s in found.token_states)
        assert len(found.attention_scores or ()) == 2, "of the layers above the embeddings"
        assert not any(s.requires_grad or s.is_inference() for s in found.token_states)
    assert passes == [32, 7, 1], "only the last text was not kept"
    assert again == [3, 3, 3]


def test_texts_of_like_lengths_are_read_together(make: Make) -> None:
    live, _ = make()
    lengths = [[len(SENTENCES[i]) for i in batch] for batch in live._batches([*range(40)])]
    assert [len(batch) for batch in lengths] == [32, 8]
    assert [n for batch in lengths for n in batch] == sorted(map(len, SENTENCES))


def test_what_does_not_fit_is_computed_every_time(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    live, passes = make()
    live.keep([5])
    live.token_state_cache.room = len(live.token_state_cache.rows)  # for no other text
    live.keep([30])
    assert "no room for more token states than those of 1 texts" in capsys.readouterr().err
    for _ in range(2):
        said(live, [5, 30])
    assert passes == [1, 1, 1, 1]
    assert len(live.token_state_cache.rows) == live.token_state_cache.room


@pytest.mark.parametrize("fault", ["full", "short"])
def test_a_full_disk_ends_the_keeping_only(
    make: Make, fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = list[int]()

    def refuse(_: int, data: bytes, at: int) -> int:
        if fault == "short" and not begun:
            begun.append(at)
            return len(data) // 2
        raise OSError(errno.ENOSPC, "No space left on device")

    live, passes = make()
    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", refuse)
        live.keep(range(40))
    assert "no room for more token states than those of 0 texts" in capsys.readouterr().err
    said(live, [5, 30])
    assert passes == [32, 2]


def test_a_teacher_on_a_gpu_is_asked_every_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    live, passes = make()
    teacher = live.teachers["billing"]
    monkeypatch.setattr(teacher, "device", torch.device("cuda"))
    monkeypatch.setattr(teacher, "batch", lambda encoded: pad(teacher.tokenizer, encoded))
    live.keep(range(40))
    for _ in range(2):
        said(live, [5])
    assert passes == [1, 1]
    assert not live.token_state_cache.places
