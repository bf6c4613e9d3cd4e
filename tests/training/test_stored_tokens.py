"""Tokens that are made when they are needed are those of the file, and a file that would be too large is not begun in vain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import tiny

from alloykit.data import load_texts
from alloykit.training import dataset, stored_tokens
from alloykit.training.dataset import Tokens, tokenize
from alloykit.training.stored_tokens import Encoder, TokensInParts

FIRST, SECOND = [f"{text} {'late ' * (i % 4)}" for i, text in enumerate(tiny.texts(7))], tiny.texts(12)[7:]
ALL = [*FIRST, *SECOND]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts were encoded at a time."""
    found: list[int] = []
    encode = Encoder.__call__

    def counted(self: Encoder, batch: Mapping[str, Any]) -> Any:
        found.append(len(batch["text"]))
        return encode(self, batch)

    monkeypatch.setattr(Encoder, "__call__", counted)
    return found


@pytest.mark.parametrize(
    ("sample", "room", "in_parts", "texts"),
    [
        (1000, 5999, True, 1000),  # 4,000 tokens of 1,000 texts: all 1,500 would have 6,000
        (1000, 6000, False, 1500),
        (1001, 5500, False, 1500),  # 1,000 texts say too little of the others
        (1001, 5499, True, 1500),
    ],
)
def test_a_file_that_would_be_too_large_is_not_written(
    sample: int, room: int, in_parts: bool, texts: int, words: Any, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "SAMPLE", sample)
    monkeypatch.setattr(dataset, "COPIED", 4 * room)
    table = load_texts(["refund card"] * 1000 + ["refund"] * 500)
    found = tokenize(table, words, 32)
    assert isinstance(found.stored, TokensInParts) is in_parts
    assert sum(made) == texts
    assert len(found) == 1500


def test_tokens_in_parts_are_those_of_the_file(words: Any, made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two tables, in any order, of the part that was asked for and of other texts."""
    tables = load_texts(FIRST), load_texts(SECOND)
    file = tokenize(tables[0], words, 32, tables[1])
    monkeypatch.setattr(dataset, "COPIED", 0)
    monkeypatch.setattr(stored_tokens, "READ", 2)
    parts = tokenize(tables[0], words, 32, tables[1])
    assert isinstance(parts.stored, TokensInParts)
    asked = np.array([11, 2, 8, 2, 0, 6, 7])
    np.testing.assert_array_equal(parts.lengths[asked], file.lengths[asked])
    made.clear()
    for i in asked.tolist():
        assert parts[i] == file[i]
    assert made == [], "they are in a temporary file"
    for i in (1, 3, 10):
        assert parts[i] == file[i] == {"row": i} | dict(words(ALL[i]))
    assert made == [1, 1, 1]
    assert parts.lengths[np.array([4, 0])].tolist() == [len(words(ALL[i])["input_ids"]) for i in (4, 0)]
    assert parts[11] == file[11], "after the last one of the part"


def test_a_student_that_averages_over_chunks_trains_on_the_beginning(words: Any) -> None:
    batch = {"text": ["refund the card please " * 9]}
    assert Encoder(words, 7, "mean")(batch) == Encoder(words, 7, "head")(batch)


def test_selected_texts_are_encoded_once(words: Any, made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those that are held out: every check reads them."""
    monkeypatch.setattr(dataset, "COPIED", 0)
    tokens = tokenize(load_texts(ALL), words, 32)
    some: Tokens = tokens.select([3, 9, 4])
    made.clear()
    assert [some[i]["input_ids"] for i in range(3)] * 2 == [words(ALL[i])["input_ids"] for i in (3, 9, 4)] * 2
    assert made == []
