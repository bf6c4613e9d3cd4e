"""Tokens of two tokenizers meet where they stand for the same characters."""

from __future__ import annotations

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from alloykit.errors import AlloyError
from alloykit.knowledge.alignment import Tokens, alignment, overlaps, spans_of

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def characters(text: str) -> PreTrainedTokenizerFast:
    """Every character of some text is a token."""
    return wrapped(
        Tokenizer(models.WordLevel({t: i for i, t in enumerate([*SPECIAL, *sorted(set(text))])}, "[UNK]")),
        pre_tokenizers.Split("", "isolated"),
    )


def words(*known: str) -> PreTrainedTokenizerFast:
    return wrapped(
        Tokenizer(models.WordLevel({t: i for i, t in enumerate([*SPECIAL, *known])}, "[UNK]")),
        pre_tokenizers.WhitespaceSplit(),
    )


def wrapped(backend: Tokenizer, split: pre_tokenizers.PreTokenizer) -> PreTrainedTokenizerFast:
    backend.pre_tokenizer = split
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def met(
    student: PreTrainedTokenizerFast,
    teacher: PreTrainedTokenizerFast,
    text: str,
    pair: str | None = None,
    cut: int = 64,
) -> list[list[int]]:
    pairs = None if pair is None else [pair]
    return overlaps(spans_of(student, [text], pairs, 64)[0], spans_of(teacher, [text], pairs, cut)[0])


def test_words_meet_their_characters_and_the_other_way_round() -> None:
    text = "the card"
    whole, letters = words("the", "card"), characters(text)
    # letters: [CLS] t h e _ c a r d [SEP]
    assert met(whole, letters, text) == [[0], [1, 2, 3], [5, 6, 7, 8], []]
    assert met(letters, whole, text) == [[0], [1], [1], [1], [], [2], [2], [2], [2], []]


def test_the_same_tokens_are_each_others_separators_too() -> None:
    whole = words("the", "card")
    assert met(whole, whole, "the card") == [[0], [1], [2], [3]]


def test_texts_of_a_pair_are_kept_apart() -> None:
    whole, letters = words("the", "card"), characters("the card")
    # letters: [CLS] t h e [SEP] c a r d [SEP]
    assert met(whole, letters, "the", "card") == [[0], [1, 2, 3], [], [5, 6, 7, 8], []]


def test_a_teacher_that_reads_less_leaves_the_rest_without_a_counterpart() -> None:
    whole, letters = words("the", "card"), characters("the card")
    # letters, five at most: [CLS] t h e [SEP]
    assert met(whole, letters, "the card", cut=5) == [[0], [1, 2, 3], [], []]


def test_each_row_is_the_mean_over_its_counterparts() -> None:
    text = ["the card", "card"]
    whole, letters = words("the", "card"), characters("the card")
    own, theirs = spans_of(whole, text, None, 64), spans_of(letters, text, None, 64)
    weights = alignment(own, theirs, (4, 10))
    assert weights.shape == (2, 4, 10)
    assert torch.equal(weights.sum(-1), torch.tensor([[1.0, 1, 1, 0], [1, 1, 0, 0]]))
    assert weights[0, 1].tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0, 0, 0])


def test_a_brute_force_over_random_spans() -> None:
    g = torch.Generator().manual_seed(0)

    def drawn(n: int) -> Tokens:
        """Tokens of random widths, some characters belonging to none."""
        spans, at = [(-1, 0, 0)], 0
        for _ in range(n):
            at += int(torch.randint(0, 3, (1,), generator=g))
            width = int(torch.randint(1, 4, (1,), generator=g))
            spans.append((0, at, at + width))
            at += width
        return Tokens(tuple(range(len(spans))), tuple(spans))

    for _ in range(200):
        a, b = drawn(8), drawn(11)
        expected = [
            [m for m, (v, c, d) in enumerate(b.spans) if v == w == 0 and c < y and x < d] for w, x, y in a.spans
        ]
        expected[0] = [0]
        assert overlaps(a, b) == expected


def test_a_slow_tokenizer_is_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(AlloyError, match="fast tokenizer"):
        spans_of(Slow(), ["a"], None, 8)
