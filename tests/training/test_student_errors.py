"""Errors of a student in training: which become one sentence, and which stay what they are."""

from __future__ import annotations

import pytest
import torch

from alloykit.errors import AlloyError
from alloykit.training.student_errors import student_errors


class Fragile:
    """An architecture that raises."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("\n  a mask is needed.\nsee there"), r"Fragile cannot; got ValueError: a mask is needed\. Set `training: {precision: float32}`"),
        (IndexError(), "got IndexError: no message. "),
        (RuntimeError("x" * 500), f"got RuntimeError: {'x' * 200}. "),
    ],
)  # fmt: skip
def test_what_an_architecture_raises_becomes_one_sentence(error: Exception, words: str) -> None:
    with (
        pytest.raises(AlloyError, match=f"a student that can read texts in training, and .*{words}"),
        student_errors(Fragile()),
    ):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        AlloyError(expected="a", got="b"),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("CUDA error: an illegal memory access was encountered"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_errors_pass(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, student_errors(Fragile()):
        raise error
    assert raised.value is error
