"""MUKA: model-uncertainty-aware knowledge amalgamation (Li et al. 2021; EMNLP Findings 2022 as MUKI).

Equation numbers are the paper's. Lines marked "ours" are decisions that the paper leaves open, or extensions. Most of them are in the other files of this folder.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from alloykit.losses.kl import grouped_kl, reverse_kl
from alloykit.methods.early_states import early_layers
from alloykit.methods.muka.confidences import confidences, fit_confidences
from alloykit.methods.muka.normalisation import fit_normalisation, normalised
from alloykit.methods.muka.options import MukaOptions
from alloykit.methods.muka.report import muka_warnings
from alloykit.methods.protocol import Context, LossInputs, Method, Needs, State, Supervision
from alloykit.outputs import Rows, Source
from alloykit.stats.margin import margin


class Muka(Method):
    """T(x) = Σ_i w_i Pad_i(p_i), trained with v(x) · KL(T(x) ‖ S(x))."""

    name = "muka"
    title = "MUKA: teachers weighted by Monte-Carlo dropout uncertainty"
    reference = "Li et al. 2021"
    loss_reads_states = False
    softened_by = "distillation_temperature"
    citation = (
        "Lei Li, Yankai Lin, Xuancheng Ren, Guangxiang Zhao, Peng Li, Jie Zhou, Xu Sun. Model "
        "Uncertainty-Aware Knowledge Amalgamation for Pre-Trained Language Models. 2021 (EMNLP Findings "
        "2022 as: From Mimicking to Integrating: Knowledge Integration for Pre-Trained Language Models)."
    )
    Options = MukaOptions
    options: MukaOptions

    @property
    def needs(self) -> Needs:
        o = self.options
        unused = o.without_passes and o.probabilities == "deterministic"
        return Needs(passes=0 if unused else o.passes, dropout=o.dropout, pooled_states=o.by_density)

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        c, p = self.confidences(rows, context), self.target_probabilities(rows)
        w, c = self.weights_of_answers(c, rows)
        parts = [w[:, i, None] * context.space.scatter(i, p_i.double()) for i, p_i in enumerate(p)]
        targets = torch.stack(parts).sum(0)  # Eq. 11: T(x) = Σ_i w_i Pad_i(p_i)
        v = normalised(self.text_weights(c, p, context), targets, context, self.options.normalise)
        return Supervision(targets.float(), v.float(), w.float())

    def confidences(self, rows: Rows, context: Context) -> Tensor:
        """c_i of Eq. 13, from the mean over the passes (Eqs. 3, 7–9), or one of our forms. [B, N] float64."""
        return confidences(rows, context, self.options)

    def teacher_weights(self, c: Tensor) -> Tensor:
        """w, rows sum to one. [B, N] float64."""
        if self.options.mode == "soft":
            return torch.softmax(c / self.options.temperature, dim=-1)  # Eq. 12
        best = (c == c.max(-1, keepdim=True).values).double()  # Eq. 10
        return best / best.sum(-1, keepdim=True)  # ties are shared, so that the teachers' order does not matter (ours)

    def target_probabilities(self, rows: Rows) -> list[Tensor]:
        """p_i, [B, C_i] each."""
        if self.options.probabilities == "averaged":
            return [t.mean_probabilities() for t in rows.teachers]
        return [t.probabilities(self.options.distillation_temperature) for t in rows.teachers]

    def text_weights(self, c: Tensor, p: list[Tensor], context: Context) -> Tensor:
        """v(x) of Eq. 15, and the floor of the authors' code. [B] float64."""
        if not self.options.reweight:
            return torch.ones_like(c[:, 0])
        top = torch.stack([context.space.index(i).to(c.device)[p_i.argmax(-1)] for i, p_i in enumerate(p)], dim=-1)
        return margin(c, top) + self.options.weight_floor

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        """Eq. 14, per text: v(x) · KL. The trainer takes the mean over texts (the paper sums)."""
        target, logits = inputs.target, inputs.student.logits
        if self.options.direction == "reverse":
            divergence = reverse_kl(target.targets, logits, self.options.smoothing)
        else:  # KL(T ‖ S); a temperature (ours) softens the probabilities within each teacher's labels, not the routing
            groups = inputs.context.space.components().to(logits.device)
            divergence = grouped_kl(target.targets, logits, groups, self.options.distillation_temperature)
        return {"kl": target.weights * divergence}

    # Ours

    def weights_of_answers(self, c: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
        """w and c, [B, N] float64 each. A teacher without an answer to a text has no weight, and its c is 0: it contradicts no other."""
        answered = rows.counts()
        if answered is None:
            return self.teacher_weights(c), c
        some = answered | ~answered.any(-1, keepdim=True)
        return self.teacher_weights(c.masked_fill(~some, -torch.inf)), c * answered

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The early ones, for density."""
        return tuple(early_layers(t.layers) if self.options.by_density else () for t in context.teachers)

    @property
    def batch_coupled(self) -> bool:
        return self.options.normalise == "batch"

    def fit(self, pool: Source, context: Context) -> State:
        """What makes confidences comparable, and the mean weight of each group of labels."""
        state = fit_confidences(pool, context, self.options)
        if self.options.normalise == "group":
            plain = Muka(self.options.model_copy(update={"normalise": "none"}))
            state |= fit_normalisation(pool, plain.supervise, replace(context, state=state))
        return state

    def warnings(self, context: Context) -> list[str]:
        return muka_warnings(context.space, self.options)
