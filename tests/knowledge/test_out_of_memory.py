"""A batch that does not fit is cut, and the answers are the same; a single text that does not fit is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from knowing import SENTENCES, direct, read, table

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.models.device import pick_device
from alloykit.models.forward import Budget
from alloykit.out_of_memory import is_out_of_memory
from alloykit.teachers import forward as compute
from alloykit.teachers.forward import plain_pass
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.teachers.protocol import Reading


class Small:
    """Stands for a device that holds so many padded tokens."""

    def __init__(self, model: Any, tokens: int, error: type[Exception] = torch.OutOfMemoryError) -> None:
        self.model, self.tokens, self.error = model, tokens, error
        self.sizes: list[int] = []

    def __call__(self, **batch: Any) -> Any:
        self.sizes.append(batch["input_ids"].numel())
        if self.sizes[-1] > self.tokens:
            raise self.error("DefaultCPUAllocator: can't allocate memory: you tried")
        return self.model(**batch)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError, MemoryError])
def test_smaller_batches_give_the_same_answers(
    billing: HuggingFaceInfo, models: dict[str, Path], error: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    teacher = billing.load(Reading(max_length=32))
    teacher.model = small = Small(teacher.model, 60, error)  # type: ignore[assignment]
    budget, seen = Budget(1000), []
    logits = plain_pass(teacher, teacher.encode(SENTENCES), budget, seen.append)
    torch.testing.assert_close(logits, direct(models["billing"], SENTENCES), rtol=1e-4, atol=1e-5)
    assert sum(seen) == len(SENTENCES), "each text is counted once"
    assert budget.tokens <= 62
    failed = [size for size in small.sizes if size > 60]
    assert len(failed) < 6, "once is enough: later batches are smaller from the start"
    assert "out of memory; going on with batches of" in capsys.readouterr().err
    plain_pass(teacher, teacher.encode(SENTENCES), budget, seen.append)
    assert len([size for size in small.sizes if size > 60]) == len(failed), "the budget stays small"


def test_a_batch_that_fills_the_budget_to_the_last_token_is_cut(billing: HuggingFaceInfo) -> None:
    teacher = billing.load(Reading(max_length=32))
    encodings = teacher.encode(["refund the card"] * 8)
    length = len(encodings[0]["input_ids"])
    teacher.model = small = Small(teacher.model, 4 * length)  # type: ignore[assignment]
    plain_pass(teacher, encodings, Budget(8 * length), lambda n: None)
    assert small.sizes == [8 * length, 4 * length, 4 * length]


def test_one_text_too_long_is_an_error(billing: HuggingFaceInfo) -> None:
    teacher = billing.load(Reading(max_length=32))
    teacher.model = Small(teacher.model, 3)  # type: ignore[assignment]
    with pytest.raises(AlloyError, match=r"memory for one text of \d+ tokens in teacher 'billing'.*max_length"):
        plain_pass(teacher, teacher.encode(["refund the card"]), Budget(1000), lambda n: None)


def test_other_errors_are_not_a_lack_of_memory(billing: HuggingFaceInfo) -> None:
    teacher = billing.load(Reading(max_length=32))

    def broken(**batch: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    teacher.model = broken
    with pytest.raises(
        AlloyError, match="answers of teacher 'billing' to a text of 3 tokens; got RuntimeError: mat1"
    ) as problem:
        plain_pass(teacher, teacher.encode(["refund"]), Budget(1000), lambda n: None)
    assert isinstance(problem.value.__cause__, RuntimeError)
    assert not is_out_of_memory(ValueError("can't allocate memory"))


def test_the_receipt_says_what_batches_it_were(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failed = compute._all, []

    def once(teacher: Any, encodings: Any, budget: Budget, *rest: Any) -> Any:
        if not failed:
            failed.append(True)
            budget.shrink("a teacher", 2, 100, torch.device("cpu"))
        return real(teacher, encodings, budget, *rest)

    monkeypatch.setattr(compute, "_all", once)
    store = Store(tmp_path / "k", shard_rows=16)
    sweep([billing], table(tiny.texts(8)), store, SweepOptions(passes=4, max_length=32, tokens_per_batch=256))
    [receipt] = (tmp_path / "k").glob("teachers/billing/*/*.passes-0000.json")
    assert json.loads(receipt.read_text())["tokens_per_batch"] == 128
    assert json.loads(receipt.read_text())["device"] == pick_device("auto"), "the device itself"
    assert len(read(store, ["billing"], tiny.texts(8), passes=4).rows(range(8)).teachers[0].logits) == 8
