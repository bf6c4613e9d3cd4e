"""A training whose checks find no finite loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_training import run
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.losses.kl import kl
from alloykit.methods.ensemble import ensemble_logits
from alloykit.methods.protocol import Context, LossInputs, Method, Supervision, uniform_weights
from alloykit.outputs import Rows


class NeverFinite(Method):
    """Its loss is `value` in every check."""

    name, title, reference = "never_finite", "Never finite", "a test"
    value = float("inf")

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        targets = ensemble_logits(rows, context.space).softmax(-1)
        return Supervision(targets, uniform_weights(targets))

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        assert inputs.target is not None
        term = kl(inputs.target.targets, inputs.student.logits)
        return {"kl": term if inputs.training else term.detach() * self.value}


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_no_check_with_a_finite_loss(value: float, quiet_encoder: Path, tmp_path: Path) -> None:
    method = NeverFinite(Method.Options())
    method.value = value
    with pytest.raises(AlloyError, match=r"a finite loss .*; got NaN or infinity at every check\. Lower the learning"):
        run(method, quiet_encoder, tmp_path, n=16, checks=8, select="unlabelled", epochs=1)
