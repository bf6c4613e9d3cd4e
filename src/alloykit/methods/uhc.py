"""UHC: unifying heterogeneous classifiers (Vongkulbhisal et al. 2019)."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from alloykit.methods.own_labels import own_labels_kl
from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Supervision
from alloykit.outputs import Rows


class UHCOptions(MethodOptions):
    temperature: float = Field(1.0, gt=0)
    """T, for teachers and student alike; the loss is multiplied by T²."""


class UHC(Method):
    """Each teacher supervises its own slice of the student's logits: T² Σ_i KL(p_i ‖ softmax(s[Y_i] / T)).

    With disjoint label sets the loss does not change when a constant is added to all student logits of one teacher's
    group: it does not determine how probability is divided between the groups. This depends on the student's
    initialisation. There is no single target over the union.
    """

    name = "uhc"
    title = "UHC: each teacher supervises its own labels"
    reference = "Vongkulbhisal et al. 2019"
    citation = (
        "Jayakorn Vongkulbhisal, Phongtharin Vinayavekhin, Marco Visentini-Scarzanella. Unifying "
        "Heterogeneous Classifiers with Distillation. CVPR 2019."
    )
    single_target = False
    Options = UHCOptions
    options: UHCOptions

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        return None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        found = own_labels_kl(inputs.rows, inputs.context.space, inputs.student.logits, self.options.temperature)
        return {"kl": found}
