"""The student fine-tuned on the true labels: the upper bound, and the way teachers are made."""

from __future__ import annotations

from torch import Tensor, nn

from alloykit.methods.protocol import Context, LossInputs, Method, Needs, Supervision, uniform_weights
from alloykit.outputs import Rows


class Supervised(Method):
    """Cross-entropy with the true labels. Asks no teacher."""

    name = "supervised"
    title = "Fine-tuning on the true labels (upper bound)"
    reference = "Li et al. 2021, §4.1"
    one_task = True

    @property
    def needs(self) -> Needs:
        return Needs(teachers=0, labels=True)

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        assert rows.labels is not None
        targets = nn.functional.one_hot(rows.labels, context.space.size).float()
        return Supervision(targets, uniform_weights(targets))

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        assert inputs.rows.labels is not None
        return {"ce": nn.functional.cross_entropy(inputs.student.logits, inputs.rows.labels, reduction="none")}
