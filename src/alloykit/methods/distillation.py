"""Distillation with labels from teachers that know the same labels (RL-KD, Yuan et al. 2021, Eqs. 1–3), and what its baselines share.

    L_KD = α T² L_DL + (1 − α) CE(y, q)          L_DL = − Σ_k w_k(x) Σ_c p_k(c) log q(c),   p_k, q softened by T

Methods differ in w_k(x), how much each teacher teaches a text; Σ_k w_k(x) = 1. CE is linear in its target, so the mean of
the teachers' losses is the loss of their mean.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Needs, Supervision, uniform_weights
from alloykit.outputs import Rows

TINY = 1e-12  # below it a probability counts as this


class DistillationOptions(MethodOptions):
    alpha: float = Field(0.5, ge=0, le=1)
    """Share of the teachers' loss; the rest is cross-entropy with the labels (Eq. 3; RL-KD tries 0.2, 0.5, 0.7)."""
    temperature: float = Field(1.0, gt=0)
    """T, for teachers and student alike; the teachers' loss is multiplied by T² (RL-KD tries 5, 10, 20)."""


class Distillation(Method):
    """Learns from labels and a mixture of the teachers. Subclasses define the teachers' weights."""

    Options = DistillationOptions
    options: DistillationOptions
    one_task = True
    softened_by = "temperature"

    @property
    def needs(self) -> Needs:
        return Needs(labels=True)

    @abstractmethod
    def teacher_weights(self, rows: Rows, context: Context) -> Tensor:
        """w_k(x), [B, N], rows sum to one."""

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        weights = self.teacher_weights(rows, context)
        answered = has_answer(weights, rows)
        weights = rows.weighed(weights)
        targets = mixture(weights, rows, context.space, self.options.temperature)
        return Supervision(targets, answered, weights)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        alpha = self.options.alpha
        from_teachers = soft_cross_entropy(inputs.target.targets, inputs.student.logits, self.options.temperature)
        return {"distillation": alpha * inputs.target.weights * from_teachers, "ce": (1 - alpha) * label_loss(inputs)}


def has_answer(weights: Tensor, rows: Rows) -> Tensor:
    """1 for a text that a teacher with a weight has an answer to, else 0. weights [B, N] → [B] float32."""
    answered = rows.counts()
    return uniform_weights(weights) if answered is None else (weights * answered.to(weights)).sum(-1).gt(0).float()


def mixture(weights: Tensor, rows: Rows, space: LabelSpace, temperature: float) -> Tensor:
    """Σ_k w_k Pad_k(softmax(z_k / T)). weights [B, N] → [B, C]."""
    padded = [space.scatter(k, t.probabilities(temperature)) for k, t in enumerate(rows.teachers)]
    return (weights.unsqueeze(-1) * torch.stack(padded, 1)).sum(1)


def soft_cross_entropy(target: Tensor, logits: Tensor, temperature: float = 1.0) -> Tensor:
    """− T² Σ_c target(c) log softmax(logits / T)(c). [B, C] each → [B]."""
    return -(temperature**2) * (target * torch.log_softmax(logits / temperature, -1)).sum(-1)


def label_loss(inputs: LossInputs) -> Tensor:
    """CE(y, q). [B]"""
    return functional.cross_entropy(inputs.student.logits, true_labels(inputs.rows), reduction="none")


def true_labels(rows: Rows) -> Tensor:
    """The true labels, [B] int64. TypeError if there are none."""
    if rows.labels is None:
        raise TypeError("this method needs the texts' true labels")
    return rows.labels


def teacher_losses(rows: Rows, space: LabelSpace) -> Tensor:
    """CE(y, p_k) of every teacher (RL-KD Eq. 5), [B, N]; − log 1e-12 at the most."""
    padded = torch.stack([space.scatter(k, t.probabilities()) for k, t in enumerate(rows.teachers)], 1)
    probability = padded.gather(-1, true_labels(rows).view(-1, 1, 1).expand(-1, padded.shape[1], 1)).squeeze(-1)
    return -probability.clamp(min=TINY).log()
