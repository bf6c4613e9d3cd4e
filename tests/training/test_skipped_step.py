"""A loss that is only measured, and a step that a method skips."""

from typing import ClassVar

import pytest
import torch
from small_training import run

from alloykit.losses.kl import kl
from alloykit.methods.ensemble import ensemble_logits
from alloykit.methods.protocol import Method, SkippedStep, Supervision, uniform_weights


class EverySecond(Method):
    """The student learns in the first step and in every second one after it."""

    name, title, reference = "every_second", "Every second step", "a test"
    weights: ClassVar[list[torch.Tensor]]
    modes: ClassVar[list[tuple[bool, bool]]]

    def supervise(self, rows, context):
        targets = torch.softmax(ensemble_logits(rows, context.space), -1)
        return Supervision(targets, uniform_weights(targets))

    def loss(self, inputs):
        self.modes.append((inputs.training, torch.is_grad_enabled()))
        term = kl(inputs.target.targets, inputs.student.logits)
        return SkippedStep(kl=term.detach()) if inputs.training and len(self.weights) % 2 else {"kl": term}

    def after_step(self, step):
        self.weights.append(step.student.classifier.weight.detach().clone())


@pytest.mark.parametrize("accumulate", [1, 2])
def test_no_weight_moves_in_a_skipped_step(quiet_encoder, tmp_path, accumulate):
    method = EverySecond(Method.Options())
    EverySecond.weights, EverySecond.modes = [], []
    _, fitted = run(method, quiet_encoder, tmp_path, n=32, batch_size=8 // accumulate, accumulate=accumulate)
    assert fitted.steps == len(method.weights) >= 4
    for i in range(1, len(method.weights)):
        same = torch.equal(method.weights[i], method.weights[i - 1])
        assert same is (i % 2 == 1), "momentum would move it on a gradient of zero"
    losses = [entry["loss"] for entry in fitted.history if "loss" in entry]
    assert len(losses) == fitted.steps
    assert min(losses) > 0, "what a skipped step measured is logged"


def test_training_tells_a_step_from_a_check(quiet_encoder, tmp_path):
    method = EverySecond(Method.Options())
    EverySecond.weights, EverySecond.modes = [], []
    run(method, quiet_encoder, tmp_path, n=32, checks=8, batch_size=8, check_every=1, select="unlabelled")
    assert set(method.modes) == {(True, True), (False, False)}
