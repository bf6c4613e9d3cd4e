"""MUKA's options: the paper's choices, and ours."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from alloykit.methods.protocol import MethodOptions


class MukaOptions(MethodOptions):
    mode: Literal["soft", "hard"] = "soft"
    """hard: only the most confident teacher (Eq. 10). soft: a weighted sum of all teachers (Eqs. 11–12)."""
    passes: int = Field(16, ge=0, le=10_000)
    """K of Eq. 3: the number of Monte-Carlo dropout passes. 0: the entropy of the pass without dropout."""
    dropout: float | None = Field(None, gt=0, lt=1)
    """Dropout rate of the passes (the paper: 0.1). null: each teacher's own rate."""
    temperature: float = Field(0.2, gt=0)
    """τ of Eq. 12, for soft mode only."""
    confidence: Literal["entropy", "percentile", "mixture", "density", "energy", "max_logit"] = "entropy"
    """entropy: c of Eq. 13. The others are ours. percentile and mixture calibrate it per teacher over the pool, so that teachers are comparable. density: how
    similar a text's early states are to those of a teacher's most confident texts. energy: the log-sum-exp of a teacher's logits,
    standardised per teacher over the pool; max_logit: the same for the largest logit. density, energy and max_logit need no Monte-Carlo passes."""
    probabilities: Literal["deterministic", "averaged"] = "deterministic"
    """The probabilities in the target. deterministic: p_i of the pass without dropout. averaged: p̄_i, the mean over the passes."""
    reweight: bool = True
    """Whether texts are weighted by v(x) of Eq. 15. false: v is 1 for all texts."""
    weight_floor: float = Field(1e-6, ge=0)
    """Added to v, as the authors' code does."""
    normalise: Literal["none", "batch", "group"] = "none"
    """Divide v by its mean (ours). batch: over the batch. group: over the texts of the pool that are routed to the same group of labels."""
    distillation_temperature: float = Field(1.0, gt=0)
    """Temperature of p_i, and of the student within a teacher's labels (ours; the paper has none)."""
    direction: Literal["forward", "reverse"] = "forward"
    """forward: KL(T ‖ S), as the authors' code; reverse: KL(S ‖ T), as Eq. 14 prints."""
    smoothing: float = Field(0.0, ge=0, lt=1)
    """ε: the share of a uniform distribution in the target, for `direction: reverse` only."""

    @property
    def by_density(self) -> bool:
        return self.confidence == "density"

    @property
    def without_passes(self) -> bool:
        """Whether the confidence needs the pass without dropout only."""
        return self.confidence in ("density", "energy", "max_logit")

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
