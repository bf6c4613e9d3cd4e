"""The steps that `plan` times are those of the training: batches of the recipe's size, and no weight is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from small_training import new_student

from alloykit.methods.protocol import Needs
from alloykit.training.steps import StepProbe
from alloykit.training.training_options import TrainingOptions

OPTIONS = TrainingOptions(batch_size=2, precision="float32")


@pytest.mark.parametrize("states", [False, True])
def test_a_step_and_a_check(states: bool, quiet_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    student, words = new_student(quiet_encoder)
    before = {name: value.clone() for name, value in student.state_dict().items()}
    asked: list[tuple[bool, int, bool]] = []
    forward = student.forward

    def counted(input_ids: torch.Tensor, **inputs: Any) -> Any:
        asked.append((student.training, len(input_ids), inputs["output_hidden_states"]))
        return forward(input_ids=input_ids, **inputs)

    monkeypatch.setattr(student, "forward", counted)
    probe = StepProbe(student, words, OPTIONS, Needs(student_hidden_states=states), "cpu")
    encodings = [dict(words(text)) for text in tiny.texts(5)]
    for _ in range(2):
        probe.step(encodings)
    assert asked == [(True, 2, states), (True, 2, states), (True, 1, states)] * 2
    assert all(parameter.grad is None for parameter in student.parameters()), "those of the next step are its own"
    asked.clear()
    probe.check(encodings)
    assert asked == [(False, 5, states)]
    for name, value in student.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=1e-9)
