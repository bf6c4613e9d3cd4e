"""AS-DFD: data-free distillation from crafted embeddings (Ma et al. 2020), as StrataNet's baseline, for several teachers.

Pseudo-embeddings e ∈ R^{L×d} begin as Gaussian noise between [CLS] and [SEP] and are moved (crafting.py) so that a teacher
answers a random class while the student's self-supervised loss rises:

    min_e CE(y, teacher_i(e)) − γ L_self(e)

The student then minimises

    KL(Pad_i(p_i(e)) ‖ q(ẽ)) + β L_self,          L_self = mean over hidden positions of ‖ W h_s(ẽ) − e ‖² / d

ẽ is e with some positions hidden. Rounds of both alternate. We know the paper only from its abstract and from memory, so all details are
ours: one linear W; the student reads ẽ for both terms; if several teachers know the class, their mean is the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from alloykit.labels import LabelSpace
from alloykit.losses.kl import kl
from alloykit.methods.as_dfd.crafting import CraftedCollator, craft, self_supervised_loss
from alloykit.methods.as_dfd.options import AsDfdOptions
from alloykit.methods.distillation import has_answer
from alloykit.methods.ensemble import ensemble_logits
from alloykit.methods.protocol import (
    Context,
    LoadedTeacher,
    LossInputs,
    Method,
    Needs,
    Phase,
    PhaseData,
    Supervision,
    uniform_weights,
)
from alloykit.outputs import Rows


class AsDfd(Method):
    """The student learns from embeddings that stand for no text."""

    name = "as_dfd"
    title = "AS-DFD: crafted embeddings in place of texts"
    reference = "Ma et al. 2020"
    citation = (
        "Xinyin Ma, Yongliang Shen, Gongfan Fang, Chen Chen, Chenghao Jia, Weiming Lu. Adversarial Self-Supervised Data-Free "
        "Distillation for Text Classification. EMNLP 2020 (reconstructed)."
    )
    Options = AsDfdOptions
    options: AsDfdOptions
    target_reads_labels = True

    @property
    def needs(self) -> Needs:
        return Needs(phase_data=True, student_hidden_states=True)

    def phases(self) -> tuple[Phase, ...]:
        return tuple(Phase(f"round{n + 1}") for n in range(self.options.rounds))

    def examples(self, space: LabelSpace, n_texts: int) -> int:
        return self.options.per_class * sum(map(len, space.teachers))

    def phase_data(
        self,
        phase: Phase,
        student: Any,
        modules: nn.ModuleDict,
        teachers: Sequence[LoadedTeacher],
        context: Context,
        seed: int,
    ) -> PhaseData:
        """Embeddings for every class of every teacher, against the current student."""
        crafted = craft(teachers, context.space, student, cast("nn.Linear", modules["predict"]), self.options, seed)
        return PhaseData(crafted, CraftedCollator(crafted, self.options.hidden))

    def modules(self, context: Context) -> nn.ModuleDict:
        width = context.student_shape.hidden_size
        return nn.ModuleDict({"predict": nn.Linear(width, width)})

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        """The answers of the teachers that know this class, in the mean; for a real text, which has no such class, the ensemble's."""
        if rows.labels is None:
            targets = torch.softmax(ensemble_logits(rows, context.space), -1)
            return Supervision(targets, uniform_weights(targets))
        knows = context.space.has_label().to(rows.labels.device)[:, rows.labels].T.float()  # [B, N]
        shares = rows.weighed(knows / knows.sum(-1, keepdim=True))
        padded = torch.stack([context.space.scatter(i, t.probabilities()) for i, t in enumerate(rows.teachers)], 1)
        targets = (shares.unsqueeze(-1) * padded).sum(1)
        return Supervision(targets, has_answer(knows, rows), shares)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        answers = {"kl": kl(inputs.target.targets, inputs.student.logits)}
        if inputs.rows.embeddings is None or inputs.rows.hidden is None or inputs.student.hidden_states is None:
            return answers  # a real text: nothing is hidden
        weight = inputs.modules["predict"].weight
        assert isinstance(weight, Tensor)
        predicted = inputs.modules["predict"](inputs.student.hidden_states[-1].to(weight.dtype))
        self_loss = self_supervised_loss(predicted, inputs.rows.embeddings.to(weight.dtype), inputs.rows.hidden)
        return answers | {"self": self.options.self_supervised * self_loss}
