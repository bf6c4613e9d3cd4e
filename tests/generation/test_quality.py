"""Control, diversity and the like, on texts small enough to count by hand."""

from __future__ import annotations

import math

import pytest

from alloykit.generation import quality
from alloykit.generation.quality import bleu, distinct, self_bleu, text_quality
from alloykit.generation.writer import GeneratedText


def test_distinct_counts_different_n_grams() -> None:
    assert distinct([["a", "b", "a"], ["b"]], 1) == 2 / 4
    assert distinct([["a", "b", "a", "b"]], 2) == 2 / 3
    assert distinct([["a"]], 2) == 0.0


def test_bleu_by_hand() -> None:
    assert bleu("the cat sat on the mat".split(), ["the cat sat on the mat".split()]) == pytest.approx(1.0)
    own, reference = "a b c d e".split(), "a b x d e".split()
    shares = [4 / 5, (2 + 1) / (4 + 1), (0 + 1) / (3 + 1), (0 + 1) / (2 + 1)]
    assert bleu(own, [reference]) == pytest.approx(math.exp(sum(map(math.log, shares)) / 4))
    assert bleu("a a a a".split(), ["a b c d".split()]) == pytest.approx(
        math.exp((math.log(1 / 4) + math.log(1 / 4) + math.log(1 / 3) + math.log(1 / 2)) / 4)
    ), "counts are clipped"
    assert bleu("a b c d".split(), ["a b c d e f".split()]) == pytest.approx(math.exp(1 - 6 / 4)), "too short"
    assert bleu("p q r s".split(), ["a b c d".split()]) == 0.0
    longer = bleu("a b c d e f".split(), ["a b c d".split()])
    assert longer == pytest.approx((4 / 6 * 4 / 6 * 3 / 5 * 2 / 4) ** (1 / 4)), "no penalty for length"
    two = bleu("a a x y".split(), ["a b c d".split(), "a e f g".split()])
    assert two == pytest.approx((1 / 4 * 1 / 4 * 1 / 3 * 1 / 2) ** (1 / 4)), (
        "a word counts as often as in one reference"
    )
    assert bleu("a b c d e".split(), ["p q r s".split(), "a b c d e f".split()]) == pytest.approx(1.0), "the shorter"


def test_texts_that_repeat_each_other_have_a_high_self_bleu() -> None:
    same, other = [["a", "b", "c", "d", "e"]] * 5, [[f"{n}{c}" for c in "abcde"] for n in range(5)]
    assert self_bleu(same) == pytest.approx(1.0)
    assert self_bleu(other) == 0.0
    assert self_bleu(same[:1]) == 0.0
    assert self_bleu([*same[:2], ["a"]]) == pytest.approx(1.0), "a text of fewer than four words has no BLEU-4"


def test_self_bleu_compares_random_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "BLEU_TEXTS", 2)
    texts = [["a", "b", "c", "d"]] * 2 + [[f"{n}{c}" for c in "abcd"] for n in range(48)]
    assert self_bleu(texts) == 0.0, "not the first two"


def test_the_summary() -> None:
    texts = [
        GeneratedText("a b", "x", "t", 0.9, "x", 10.0),
        GeneratedText("c", "x", "t", 0.1, "y", math.inf),
        GeneratedText("d e f", "y", "t", 0.5, "y", 40.0),
    ]
    found = text_quality(texts)
    assert found["control"] == pytest.approx(2 / 3)
    assert found["perplexity"] == pytest.approx(20.0), "the geometric mean of the finite ones"
    assert found["words"] == 2.0
    assert found["confidence"] == pytest.approx(0.5)
    repeated = text_quality([*texts, texts[2]])
    assert (repeated["distinct_1"], repeated["distinct_2"]) == (6 / 9, 3 / 5)
    assert text_quality([])["texts"] == 0
