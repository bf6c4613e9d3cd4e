"""What is said of a teacher without labels: how sure it is, and the sentences about it."""

import pytest
import torch

from alloykit.evaluation.health import health_warnings, output_statistics


def test_behaviour_by_hand():
    p = torch.tensor([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3001, 0.3999], [0.0, 0.9991, 0.0009], [0.0, 0.0, 1.0]])
    found = output_statistics(p, 0.25, ["a", "b", "c"])
    assert found["max_probability"] == pytest.approx((0.7 + 1 + 0.3999 + 0.9991 + 1) / 5)
    assert found["excess"] == pytest.approx(found["max_probability"] - 1 / 3)
    assert found["saturated_texts"] == pytest.approx(3 / 5)
    assert found["predicted"] == {"a": 1, "b": 2, "c": 2}
    assert found["pass_variance"] == 0.25
    assert output_statistics(p, None, ["a", "b", "c"])["pass_variance"] is None
    assert output_statistics(p[1:2], None, ["a", "b", "c"])["predicted"] == {"a": 0, "b": 1, "c": 0}
    guess = output_statistics(torch.full((7, 4), 0.25), None, list("abcd"))
    assert guess["excess"] == pytest.approx(0)
    almost = torch.tensor([[0.9989, 0.0011]])
    assert output_statistics(almost, None, ["a", "b"])["saturated_texts"] == 0


FINE = {
    "max_probability": 0.8, "excess": 0.3, "saturated_texts": 0.2, "pass_variance": 1e-3, "predicted": {"a": 50, "b": 50},
    "unknown_tokens": 0.01, "truncated_texts": 0.1, "lost_tokens": 0.05, "tokens": 12.0, "tokens_per_word": 1.2,
    "spelled_out": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("below", "above", "sentence"),
    [
        ({"saturated_texts": 0.99}, {"saturated_texts": 0.991}, "on 99.1 % of the texts: its outputs are saturated"),
        (
            {"pass_variance": 1e-6},
            {"pass_variance": 9.9e-7},
            "almost the same probabilities in all Monte-Carlo passes (variance 9.9e-07)",
        ),
        ({"pass_variance": None}, {"pass_variance": 0.0}, "passes (variance 0.0e+00)"),
        ({"unknown_tokens": 0.05}, {"unknown_tokens": 0.06}, "does not know 6 % of the tokens of the texts ([UNK])"),
        ({"unknown_tokens": None}, {"unknown_tokens": 1.0}, "does not know 100 % of the tokens of the texts ([UNK])"),
        (
            {"tokens_per_word": 2.31},
            {"spelled_out": True, "tokens_per_word": 2.31},
            "splits a word of the texts into 2.3 tokens on average",
        ),
        (
            {"truncated_texts": 0.5},
            {"truncated_texts": 0.51, "lost_tokens": 0.3},
            "only the beginning of 51 % of the texts and misses 30 % of all tokens",
        ),
        ({"pass_variance": None, "dropout": 0.1}, {"pass_variance": None, "dropout": 0.0}, "with dropout rates of 0"),
        ({"dropout": 0.0}, {"pass_variance": 0.0, "dropout": 0.0}, "almost the same probabilities"),
        ({"predicted": {"a": 5, "b": 95}}, {"predicted": {"a": 4, "b": 96}}, "predicts 'b' on 96 % of the texts"),
    ],
)
def test_a_warning_appears_beyond_its_threshold(below, above, sentence):
    assert health_warnings({"x": FINE, "y": FINE | below}) == []
    [found] = health_warnings({"x": FINE, "y": FINE | above})
    assert found.startswith("teacher 'y' ")
    assert sentence in found


def test_unknown_pieces_are_named_before_spelling():
    both = FINE | {"unknown_tokens": 0.5, "spelled_out": True}
    [found] = health_warnings({"x": both})
    assert "[UNK]" in found
    [found] = health_warnings({"x": both | {"unknown_tokens": None}})
    assert "splits a word" in found


def test_every_teacher_has_sentences_of_its_own():
    seen = {
        "saturated_texts": 1.0,
        "predicted": {"a": 9, "b": 0},
        "pass_variance": None,
    }  # of texts that nobody tokenized
    found = health_warnings({"x": seen, "y": FINE, "z": seen})
    assert [s.split("'")[1] for s in found] == ["x", "x", "z", "z"]
    assert health_warnings({}) == []
