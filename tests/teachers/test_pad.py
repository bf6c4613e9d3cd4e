"""Our padding is the tokenizer's."""

from __future__ import annotations

from typing import Any

import pytest
import tiny
import torch

from alloykit.models.tokens import encode, pad

TEXTS = ["refund", "my card was lost again", "why"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("names", [["input_ids", "attention_mask"], ["input_ids", "token_type_ids", "attention_mask"]])
def test_as_the_tokenizer_pads(side: str, names: list[str]) -> None:
    words = tiny.tokenizer()
    words.padding_side, words.model_input_names = side, names
    words.pad_token, words._pad_token_type_id = "[MASK]", 3  # not zero, so that they can be told from nothing
    encodings = encode(words, TEXTS, ["box", None, "door"], 32)
    found = pad(words, encodings)
    expected = words.pad({key: [e[key] for e in encodings] for key in encodings[0]}, return_tensors="pt")
    assert set(found) == set(expected)
    for key, value in found.items():
        assert value.dtype == torch.int64
        assert torch.equal(value, expected[key]), key


def test_what_only_the_tokenizer_knows_is_left_to_it() -> None:
    words = tiny.tokenizer()
    words.model_input_names = ["input_ids", "attention_mask", "more"]
    asked: list[Any] = []

    def own(inputs: Any, return_tensors: str) -> Any:
        asked.append(inputs)
        return {"input_ids": torch.zeros(1)}

    words.pad = own
    assert list(pad(words, [{"input_ids": [1], "more": [2]}, {"input_ids": [3, 4], "more": [5, 6]}])) == ["input_ids"]
    assert asked == [{"input_ids": [[1], [3, 4]], "more": [[2], [5, 6]]}]
