"""Functions of the user's that answer rubbish, raise anything, or change what the process shares."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from alloykit import AlloyError, Teacher
from alloykit.teachers.function import imported
from alloykit.teachers.protocol import Reading

GOOD = [[0.25, 0.75]] * 3


class Own(BaseException):
    pass


class Fails:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __len__ = __iter__ = __float__ = __str__ = __repr__  # type: ignore[assignment]


class Liar(list[Any]):
    def __iter__(self) -> Any:
        return iter([[0.5, 0.5]])


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


def raising(error: BaseException) -> Callable[[Any], Any]:
    def function(texts: Any) -> Any:
        raise error

    return function


def answer(function: Callable[[Any], Any]) -> torch.Tensor:
    teacher = Teacher(function, ["a", "b"], name="f").spec.describe("f").load(Reading())
    return teacher.answer(teacher.prepare(["one", "two", "three"]), lambda n: None).logits


@pytest.mark.parametrize(
    "function",
    [
        lambda texts: itertools.count(),
        lambda texts: [itertools.repeat(0.5)] * 3,
        lambda texts: [{0.25, 0.75}] * 3,
        lambda texts: [b"ab"] * 3,
        lambda texts: [["half", "half"]] * 3,
        lambda texts: np.array([[object(), 0.5]] * 3, dtype=object),
        lambda texts: [[np.complex64(0.5 + 1j), np.complex64(0.5)]] * 3,
        lambda texts: torch.empty(3, 2, device="meta"),
        lambda texts: [[torch.empty((), device="meta")] * 2] * 3,
        lambda texts: Fails(),
        lambda texts: [Fails()] * 3,
        lambda texts: [[Fails(), Fails()]] * 3,
        lambda texts: Liar(GOOD),
        lambda texts: [{"a": Fails()}] * 3,
        lambda texts: [{Fails(): 1}] * 3,
    ],
)
def test_an_answer_that_is_no_answer_is_an_error(function: Callable[[Any], Any]) -> None:
    with pytest.raises(AlloyError, match="^expected .*; got "):
        answer(function)


@pytest.mark.parametrize(
    "error",
    [SystemExit(), SystemExit(0), Own("own"), GeneratorExit(), asyncio.CancelledError(), StopIteration(), Unprintable()],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_a_function_raises_is_an_error_with_its_name(error: BaseException) -> None:
    with pytest.raises(AlloyError, match=f"got {type(error).__name__}"):
        answer(raising(error))


def test_a_message_of_foreign_code_is_one_short_line() -> None:
    with pytest.raises(AlloyError) as told:
        answer(raising(ValueError("\x1b[31m\nerror: another line " + "x" * 100_000)))
    assert "\\x1b" in str(told.value)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 2_000


def test_ctrl_c_is_no_error_of_the_function() -> None:
    with pytest.raises(KeyboardInterrupt):
        answer(raising(KeyboardInterrupt()))


def test_a_function_may_change_its_list_but_not_shift_its_answers() -> None:
    def clears(texts: list[str]) -> Any:
        texts.clear()
        return GOOD

    assert answer(clears).shape == (3, 2)

    def shortens(texts: list[str]) -> Any:
        del texts[0]
        return [[0.5, 0.5] for _ in texts]

    with pytest.raises(AlloyError, match="3 answers"):
        answer(shortens)


def test_what_the_process_shares_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()

    def disturbs(texts: Any = None) -> Any:
        os.chdir("/")
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(threads + 1)
        return GOOD

    try:
        answer(disturbs)
        assert (os.getcwd(), torch.is_grad_enabled()) == (str(tmp_path), True)
        assert (torch.get_default_dtype(), torch.get_num_threads()) == (torch.float32, threads)
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)


def test_a_module_that_ends_the_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ends_the_program.py").write_text("import os, sys\nos.chdir('/')\nsys.exit(0)\n")
    with pytest.raises(AlloyError, match="'ends_the_program:f' \\(SystemExit: 0\\)"):
        imported("ends_the_program:f")
    assert os.getcwd() == str(tmp_path)
    assert "ends_the_program" not in sys.modules
    for name in ("", ":", "..:f", ".x:f", "\0:f", "\x1b[31m:f", "os:", "x" * 5_000 + ":f", "os:" + "a." * 5_000):
        with pytest.raises(AlloyError) as told:
            imported(name)
        assert len(str(told.value)) < 8_000


@pytest.mark.parametrize(
    "arguments",
    [
        {"labels": None}, {"labels": 5}, {"labels": "ab"}, {"labels": ["a"]}, {"labels": []}, {"labels": ["a", 5]}, {"labels": {"a": 1, "b": object()}.items()},
        {"name": 5}, {"version": 5}, {"version": object()},
    ],
)  # fmt: skip
def test_wrong_arguments_of_a_teacher(arguments: dict[str, Any]) -> None:
    with pytest.raises(AlloyError):
        Teacher(lambda texts: GOOD, **({"labels": ["a", "b"]} | arguments))
