"""MUKA: model-uncertainty-aware knowledge amalgamation (Li et al. 2021; EMNLP Findings 2022 as MUKI).

Equation numbers are the paper's. Lines marked "ours" are decisions that the paper leaves open.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.losses.kl import grouped_kl, reverse_kl
from alloykit.methods.alloy.early_states import MOST, densities, early_layers, fit_densities
from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Needs, State, Supervision
from alloykit.methods.requirements import unequal_counts
from alloykit.outputs import Rows, Source, TeacherRows, chunks, sample
from alloykit.stats import calibration
from alloykit.stats.entropy import confidence
from alloykit.stats.margin import margin


class MukaOptions(MethodOptions):
    mode: Literal["soft", "hard"] = "soft"
    """hard: the most confident teacher alone (Eq. 10); soft: a weighted sum of all (Eqs. 11–12)."""
    passes: int = Field(16, ge=0, le=10_000)
    """K of Eq. 3: Monte-Carlo dropout passes. 0 takes the entropy of the plain pass instead."""
    dropout: float | None = Field(None, gt=0, lt=1)
    """Rate of the passes (the paper: 0.1); None keeps each teacher's own."""
    temperature: float = Field(0.2, gt=0)
    """τ of Eq. 12, soft mode only."""
    confidence: Literal["entropy", "percentile", "mixture", "density"] = "entropy"
    """entropy: c of Eq. 13 as it is; percentile and mixture make it comparable between teachers, over the pool; density: how much a text's
    early states look like those of a teacher's surest texts (all ours)."""
    probabilities: Literal["deterministic", "averaged"] = "deterministic"
    """What enters the target: p_i of the plain pass, or p̄_i averaged over the passes."""
    reweight: bool = True
    """v(x) of Eq. 15; false sets v ≡ 1."""
    weight_floor: float = Field(1e-6, ge=0)
    """Added to v, as the authors' code does."""
    normalise: Literal["none", "batch", "group"] = "none"
    """Divide v by its mean over the batch, or over the pool's texts routed to the same group of labels (ours)."""
    distillation_temperature: float = Field(1.0, gt=0)
    """T of p_i and of the student within a teacher's labels (ours; the paper has none)."""
    direction: Literal["forward", "reverse"] = "forward"
    """forward: KL(T ‖ S), as the authors' code; reverse: KL(S ‖ T), as Eq. 14 prints."""
    smoothing: float = Field(0.0, ge=0, lt=1)
    """ε mixed into the target, for reverse only."""

    @model_validator(mode="after")
    def _consistent(self) -> MukaOptions:
        if self.direction == "reverse" and self.mode == "hard" and self.smoothing == 0:
            raise ValueError(
                "direction 'reverse' with mode 'hard' needs smoothing > 0: KL(S ‖ T) is infinite where T is 0"
            )
        if self.direction == "reverse" and self.distillation_temperature != 1:
            raise ValueError("direction 'reverse' is defined for distillation_temperature 1 only")
        if self.direction == "forward" and self.smoothing:
            raise ValueError("smoothing belongs to direction 'reverse'")
        if self.probabilities == "averaged" and self.passes == 0:
            raise ValueError("probabilities 'averaged' needs passes > 0")
        if self.probabilities == "averaged" and self.distillation_temperature != 1:
            raise ValueError("averaged probabilities are stored at temperature 1; set distillation_temperature: 1")
        return self


class Muka(Method):
    """T(x) = Σ_i w_i Pad_i(p_i), trained with v(x) · KL(T(x) ‖ S(x))."""

    name = "muka"
    title = "MUKA: teachers weighted by Monte-Carlo dropout uncertainty"
    reference = "Li et al. 2021"
    citation = (
        "Lei Li, Yankai Lin, Xuancheng Ren, Guangxiang Zhao, Peng Li, Jie Zhou, Xu Sun. Model "
        "Uncertainty-Aware Knowledge Amalgamation for Pre-Trained Language Models. 2021 (EMNLP Findings "
        "2022 as: From Mimicking to Integrating: Knowledge Integration for Pre-Trained Language Models)."
    )
    Options = MukaOptions
    options: MukaOptions

    @property
    def needs(self) -> Needs:
        unused = self._by_density and self.options.probabilities == "deterministic"
        passes = 0 if unused else self.options.passes
        return Needs(passes=passes, dropout=self.options.dropout, pooled_states=self._by_density)

    @property
    def _by_density(self) -> bool:
        return self.options.confidence == "density"

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The early ones, for densities."""
        return tuple(early_layers(t.layers) if self._by_density else () for t in context.teachers)

    @property
    def batch_coupled(self) -> bool:
        return self.options.normalise == "batch"

    def fit(self, pool: Source, context: Context) -> State:
        """Calibration curves per teacher, and the mean weight of each group of labels (ours)."""
        state: dict[str, Tensor] = {}
        if self._by_density:
            state = fit_densities(sample(pool, MOST))
        elif self.options.confidence != "entropy":
            raw = torch.cat([self._entropy_confidence(rows) for rows in chunks(pool)])
            fit = calibration.fit_percentile if self.options.confidence == "percentile" else calibration.fit_mixture
            state = {f"{self.options.confidence}.{i}": fit(raw[:, i]) for i in range(raw.shape[1])}
        if self.options.normalise == "group":
            fitted = Context(context.space, state)
            n = int(context.space.components().max()) + 1
            total, count = torch.zeros(n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
            for rows in chunks(pool):
                v, group = self._weight_and_group(rows, fitted)
                total.index_add_(0, group, v.double())
                count.index_add_(0, group, torch.ones_like(v, dtype=torch.float64))
            state["mean_weight"] = torch.where(total > 0, total / count.clamp(min=1), torch.ones_like(total))
        return state

    def warnings(self, context: Context) -> list[str]:
        unequal = unequal_counts(context.space)
        if self.options.confidence != "entropy" or unequal is None:
            return []
        return [
            f"{unequal}: normalised entropy is not comparable between them "
            "(0.9 on the top label is confidence .53 of 2 labels and .82 of 50). Consider `method: {confidence: percentile}`."
        ]

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        space, options = context.space, self.options
        c = self.confidences(rows, context)  # [B, N]
        w = self._teacher_weights(c)
        p = self._target_probabilities(rows)
        targets = torch.stack([w[:, i, None] * space.scatter(i, p_i.double()) for i, p_i in enumerate(p)]).sum(
            0
        )  # Eq. 11
        v = self._weights(c, p, context)
        if options.normalise == "batch":
            v = v / v.mean().clamp(min=1e-12)
        elif options.normalise == "group":
            v = v / context.state["mean_weight"].to(v)[self._group(targets, context)]
        return Supervision(targets.float(), v.float(), w.float())

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        """Eq. 14, per text: v(x) · KL. The mean over texts is taken by the trainer (the paper sums)."""
        if self.options.direction == "reverse":
            divergence = reverse_kl(inputs.target.targets, inputs.student.logits, self.options.smoothing)
        else:
            groups = inputs.context.space.components().to(inputs.student.logits.device)
            divergence = grouped_kl(
                inputs.target.targets, inputs.student.logits, groups, self.options.distillation_temperature
            )
        return {"kl": inputs.target.weights * divergence}

    def confidences(self, rows: Rows, context: Context) -> Tensor:
        """c_i of Eq. 13, or its calibrated form. [B, N] float64."""
        if self._by_density:
            return densities(rows, context.state)
        c = self._entropy_confidence(rows)
        if self.options.confidence == "entropy":
            return c
        apply = calibration.percentile if self.options.confidence == "percentile" else calibration.mixture
        fitted = [context.state[f"{self.options.confidence}.{i}"].to(c.device) for i in range(c.shape[1])]
        return torch.stack([apply(c[:, i], fitted[i]) for i in range(c.shape[1])], dim=-1)

    def _entropy_confidence(self, rows: Rows) -> Tensor:
        for teacher in rows.teachers:
            if self.options.passes and teacher.probability_sum is None:
                raise AlloyError(
                    expected=f"{self.options.passes} Monte-Carlo passes per text",
                    got="knowledge without passes",
                    hint="Run the sweep with this recipe, or set `passes: 0`.",
                )
        return torch.stack([self._confidence_of(teacher) for teacher in rows.teachers], dim=-1)

    def _confidence_of(self, teacher: TeacherRows) -> Tensor:
        """c of Eq. 13 from the mean over the passes (Eqs. 7–9)."""
        return confidence(teacher.mean_probabilities() if self.options.passes else teacher.probabilities())

    def _teacher_weights(self, c: Tensor) -> Tensor:
        if self.options.mode == "soft":
            return torch.softmax(c / self.options.temperature, dim=-1)  # Eq. 12
        best = (
            c == c.max(-1, keepdim=True).values
        ).double()  # Eq. 10; exact ties are shared, whatever the order (ours)
        return best / best.sum(-1, keepdim=True)

    def _target_probabilities(self, rows: Rows) -> list[Tensor]:
        if self.options.probabilities == "averaged":
            return [t.mean_probabilities() for t in rows.teachers]
        return [t.probabilities(self.options.distillation_temperature) for t in rows.teachers]

    def _weights(self, c: Tensor, p: list[Tensor], context: Context) -> Tensor:
        """v(x) of Eq. 15 plus the code's floor, before any normalisation. [B] float64."""
        if not self.options.reweight:
            return torch.ones_like(c[:, 0])
        top = torch.stack([context.space.index(i).to(c.device)[p_i.argmax(-1)] for i, p_i in enumerate(p)], dim=-1)
        return margin(c, top) + self.options.weight_floor

    @staticmethod
    def _group(targets: Tensor, context: Context) -> Tensor:
        return context.space.components().to(targets.device)[targets.argmax(-1)]

    def _weight_and_group(self, rows: Rows, context: Context) -> tuple[Tensor, Tensor]:
        plain = Muka(self.options.model_copy(update={"normalise": "none"}))
        supervision = plain.supervise(rows, context)
        return supervision.weights, self._group(supervision.targets, context)
