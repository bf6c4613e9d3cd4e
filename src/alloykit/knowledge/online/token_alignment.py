"""Align the tokens of two tokenizers by their character spans in the same text, to compare token states of a teacher and a
student.

A student token's state is compared with the mean of the teacher tokens that overlap its span. Student tokens without one are
masked out. Tokens without text (padding, separators) overlap nothing, but the two first tokens are aligned if both are special,
because both represent the whole text. If the token ids of both texts are equal, tokens at equal positions are aligned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.beginning import beginning
from alloykit.models.tokens import with_a_token

Span = tuple[int, int, int]
"""Text of the pair, first character, character after the last; (-1, 0, 0) for a token without text."""


@dataclass(frozen=True)
class TokenSpans:
    """One text's tokens: ids and spans."""

    ids: tuple[int, ...]
    spans: tuple[Span, ...]


def spans_of(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str | None] | None, max_length: int
) -> list[TokenSpans]:
    """Ids and character spans of each text, truncated. AlloyError for a tokenizer without spans."""
    if not tokenizer.is_fast:
        raise AlloyError(
            expected=f"a fast tokenizer, which says where in the text each token stands, instead of {type(tokenizer).__name__}",
            got="a slow one",
            hint="Token states can be compared between fast tokenizers only. Save a fast version beside the model.",
        )
    found = []
    for n, text in enumerate(texts):
        text, pair = beginning(tokenizer, text, pairs[n] if pairs is not None else None, max_length)
        encoded = tokenizer(text, pair, truncation=True, max_length=max_length, return_offsets_mapping=True)
        whose = encoded.sequence_ids()
        spans = tuple(
            (w, a, b) if w is not None and b > a else (-1, 0, 0)
            for w, (a, b) in zip(whose, encoded["offset_mapping"], strict=True)
        )
        ids = with_a_token(tokenizer, {"input_ids": encoded["input_ids"]})["input_ids"]
        found.append(TokenSpans(tuple(ids), spans or ((-1, 0, 0),) * len(ids)))
    return found


def overlaps(student: TokenSpans, teacher: TokenSpans) -> list[list[int]]:
    """Per student token, the positions of the teacher tokens that are compared with it."""
    if student == teacher:
        return [[n] for n in range(len(student.ids))]
    found: list[list[int]] = []
    first = 0
    order = [n for n, (whose, _, _) in enumerate(teacher.spans) if whose >= 0]
    for whose, a, b in student.spans:
        if whose < 0:
            found.append([])
            continue
        # Spans ascend: a token that ends before this one begins cannot overlap a later one.
        while first < len(order) and (teacher.spans[order[first]][0], teacher.spans[order[first]][2]) <= (whose, a):
            first += 1
        mine = []
        for n in order[first:]:
            w, c, d = teacher.spans[n]
            if (w, c) >= (whose, b):
                break
            if w == whose and d > a:
                mine.append(n)
        found.append(mine)
    if student.spans and teacher.spans and student.spans[0][0] < 0 and teacher.spans[0][0] < 0:
        found[0] = [0]
    return found


def alignment(
    students: Sequence[TokenSpans],
    teachers: Sequence[TokenSpans],
    sizes: tuple[int, int],
    left: tuple[bool, bool] = (False, False),
) -> Tensor:
    """[B, L_s, L_t] float32: row l averages the teacher tokens of student token l; zeros if there are none.

    `sizes`: L_s and L_t, the padded lengths. `left`: whether the student's and the teacher's padding is on the left.
    """
    out = torch.zeros(len(students), *sizes)
    for b, (student, teacher) in enumerate(zip(students, teachers, strict=True)):
        student_start, teacher_start = (
            size - len(t.ids) if on_left else 0
            for t, size, on_left in zip((student, teacher), sizes, left, strict=True)
        )
        for row, columns in enumerate(overlaps(student, teacher)):
            for column in columns:
                out[b, student_start + row, teacher_start + column] = 1 / len(columns)
    return out
