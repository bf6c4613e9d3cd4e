"""Pseudo-labels: fine-tune on the argmax of another method's supervision, the common one-off script (ours)."""

from __future__ import annotations

from torch import Tensor, nn

from alloykit.losses.kl import kl
from alloykit.methods.protocol import Context, LossInputs, Supervision, uniform_weights
from alloykit.methods.routing import Wrapping
from alloykit.outputs import Rows


class PseudoLabel(Wrapping):
    """Cross-entropy with argmax T(x), every text counting the same. `of` is the ensemble unless another method is named."""

    name = "pseudo_label"
    title = "Fine-tuning on another method's answers"
    reference = "Lee 2013"
    citation = (
        "Dong-Hyun Lee. Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method for Deep "
        "Neural Networks. ICML Workshop 2013."
    )
    default_inner = "ensemble"

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        inner = self.inner.supervise(rows, context)
        assert inner is not None  # the registry refuses inner methods without a single target
        targets = nn.functional.one_hot(inner.targets.argmax(-1), context.space.size).float()
        answered = rows.counts()
        weights = uniform_weights(targets) if answered is None else answered.any(-1).float()
        return Supervision(targets, weights, inner.teacher_weights)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        # KL from a one-hot target is the cross-entropy.
        return {"ce": inputs.target.weights * kl(inputs.target.targets, inputs.student.logits)}
