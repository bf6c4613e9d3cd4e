"""The student inside its training: its dropout, and the questions that a method asks it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import tiny
import torch
from random_rows import context_of, rows_of, space_of
from torch import nn

from alloykit.methods.protocol import Phase
from alloykit.methods.registry import create
from alloykit.training.module import TrainingModule
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec

Batch = dict[str, Any]


@pytest.fixture(scope="module")
def student_and_batch(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Batch]:
    """A student with much dropout, and its tokens of eight texts with what the teachers say of them."""
    folder = tiny.encoder(tmp_path_factory.mktemp("module") / "encoder", "bert", 5, num_hidden_layers=1)
    student, words = build_student(StudentSpec(model=str(folder), dropout=0.5), space_of("disjoint"))
    tokens = dict(words(tiny.texts(8), padding=True, return_tensors="pt"))
    return student, tokens | {"rows": rows_of("disjoint", 8).to_batch()}


def module_of(student: Any, *, compiled: bool = False) -> TrainingModule:
    method, rows = create("vanilla_kd"), rows_of("disjoint", 8)
    context = context_of(method, rows, space_of("disjoint"))
    return TrainingModule(student, method, nn.ModuleDict(), context, Phase(), compiled=compiled)


@pytest.mark.parametrize("training", [True, False])
def test_a_question_of_the_method_meets_no_dropout_and_leaves_the_student_as_it_was(
    training: bool, student_and_batch: tuple[Any, Batch]
) -> None:
    student, batch = student_and_batch
    module = module_of(student).train(training)
    found = module.eval_logits(batch)
    assert student.training is training
    assert not found.requires_grad
    with torch.no_grad():
        expected = student.eval()(**{key: value for key, value in batch.items() if key != "rows"}).logits
    torch.testing.assert_close(found, expected)


def test_each_step_draws_masks_of_its_own_from_torchs_generator(student_and_batch: tuple[Any, Batch]) -> None:
    student, batch = student_and_batch
    module = module_of(student).train()
    torch.manual_seed(0)
    first, second = (module(**batch) for _ in range(2))
    torch.manual_seed(0)
    assert torch.equal(module(**batch)["logits"], first["logits"])
    assert not torch.equal(first["logits"], second["logits"])
    assert first["loss"].requires_grad
    assert not first["per_text"].requires_grad


def test_a_check_draws_no_masks(student_and_batch: tuple[Any, Batch]) -> None:
    """A run with more checks would otherwise be another one."""
    student, batch = student_and_batch
    before = torch.get_rng_state()
    module_of(student).eval()(**batch)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_compiled_student_keeps_its_forward_function(student_and_batch: tuple[Any, Batch]) -> None:
    assert isinstance(module_of(student_and_batch[0], compiled=True).lean, nullcontext)
    assert not isinstance(module_of(student_and_batch[0]).lean, nullcontext)
