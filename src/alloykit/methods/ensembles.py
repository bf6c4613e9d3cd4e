"""Distillation from ensembles, the baselines of RL-KD. Their weights are fixed, sampled, fitted, or chosen by the label.

All are L_KD of methods/distillation.py with their own w_k(x) (Yuan et al. 2021, "Baseline Models").
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.methods.distillation import (
    Distillation,
    DistillationOptions,
    has_answer,
    label_loss,
    mixture,
    soft_cross_entropy,
    teacher_losses,
)
from alloykit.methods.protocol import Context, LossInputs, Needs, State
from alloykit.outputs import FITTED_TO, Rows, Source, chunks, sample

ROUNDS, TOLERANCE = 2000, 1e-9  # of the fit: it stops when no weight moves by more than this
YUAN = "Yuan et al. 2021, Baseline Models"


class SingleOptions(DistillationOptions):
    which: int = Field(0, ge=0)
    """Position of the teacher in the recipe's list, from 0."""


class SingleKD(Distillation):
    """w: one teacher has all the weight."""

    name = "kd"
    title = "KD from one teacher, with labels"
    reference = "Hinton et al. 2015"
    citation = "Geoffrey Hinton, Oriol Vinyals, Jeff Dean. Distilling the Knowledge in a Neural Network. 2015."
    Options = SingleOptions
    options: SingleOptions

    @property
    def needs(self) -> Needs:
        return Needs(teachers=self.options.which + 1, labels=True)

    def teacher_weights(self, rows: Rows, context: Context) -> Tensor:
        return _one_hot(torch.full((_size(rows),), self.options.which), rows)


class UniformEnsemble(Distillation):
    """w_k = 1/N (Yang et al. 2020)."""

    name = "u_ensemble"
    title = "KD from the mean of all teachers, with labels"
    reference = YUAN

    def teacher_weights(self, rows: Rows, context: Context) -> Tensor:
        return rows.equal_weights()


class WeightedOptions(DistillationOptions):
    weights: list[float] | None = None
    """One per teacher, in the recipe's order; they are divided by their sum. None: each teacher's accuracy on `validation:`."""


class WeightedEnsemble(Distillation):
    """w_k fixed, given or by accuracy (the papers choose them by hand; accuracies are ours). `fit` raises AlloyError for given weights that are not one
    for each teacher, are negative or are all 0."""

    name = "w_ensemble"
    title = "KD from a fixed weighted mean of the teachers, with labels"
    reference = YUAN
    Options = WeightedOptions
    options: WeightedOptions

    @property
    def needs(self) -> Needs:
        return Needs(labels=True, validation=self.options.weights is None)

    def fit(self, pool: Source, context: Context) -> State:
        given = self.options.weights
        if given is None:
            right = torch.cat([_right(rows, context) for rows in chunks(context.validation_source)])
            return {"weights": _normalised(right.double().mean(0))}
        if len(given) != len(context.space.teachers) or min(given) < 0 or sum(given) <= 0:
            raise AlloyError(
                expected=f"{len(context.space.teachers)} weights, none negative, in `method: {{weights: …}}`",
                got=str(given),
                hint="One for each teacher, in the recipe's order.",
            )
        return {"weights": _normalised(torch.tensor(given, dtype=torch.float64))}

    def teacher_weights(self, rows: Rows, context: Context) -> Tensor:
        return context.state["weights"].to(rows.teachers[0].logits).expand(_size(rows), -1)


class FittedEnsemble(WeightedEnsemble):
    """w maximises Σ_x log Σ_k w_k p_k(y | x) over labelled texts, by expectation–maximisation (ours).

    The problem is concave, so this finds the best weights. The paper names logistic regression, whose weights may be negative."""

    Options = DistillationOptions  # type: ignore[assignment]

    def fit(self, pool: Source, context: Context) -> State:
        source = context.validation_source if self.needs.validation else sample(pool, FITTED_TO)
        likelihood = torch.cat([-teacher_losses(rows, context.space) for rows in chunks(source)]).double().exp()
        return {"weights": fitted_weights(likelihood).float()}


class TrainFittedEnsemble(FittedEnsemble):
    """Over the training texts."""

    name = "lr_train_ensemble"
    title = "KD from the weighted mean that fits the training labels best"
    reference = YUAN

    @property
    def needs(self) -> Needs:
        return Needs(labels=True)


class DevFittedEnsemble(FittedEnsemble):
    """Over the labelled `validation:` texts."""

    name = "lr_dev_ensemble"
    title = "KD from the weighted mean that fits the validation labels best"
    reference = YUAN

    @property
    def needs(self) -> Needs:
        return Needs(labels=True, validation=True)


class RandomSingle(UniformEnsemble):
    """A random teacher for each batch (Fukuda et al. 2017). Checks use the mean of all teachers, so that they are not random."""

    name = "rand_single"
    title = "KD from one teacher per batch, chosen at random, with labels"
    reference = YUAN

    @property
    def batch_coupled(self) -> bool:
        return True

    def as_classifier(self) -> None:
        """None: the teacher is chosen at random."""

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        target, alpha, temperature = inputs.target.targets, self.options.alpha, self.options.temperature
        answered = inputs.target.weights
        if inputs.training:
            sampled = torch.randint(len(inputs.rows.teachers), (1,)).expand(len(target))
            weights = _one_hot(sampled, inputs.rows)
            target, answered = (
                mixture(weights, inputs.rows, inputs.context.space, temperature),
                has_answer(weights, inputs.rows),
            )
        from_teachers = soft_cross_entropy(target, inputs.student.logits, temperature)
        return {"distillation": alpha * answered * from_teachers, "ce": (1 - alpha) * label_loss(inputs)}


class BestSingle(Distillation):
    """w: the teacher whose cross-entropy with the label is the lowest on this text has all the weight. Equal ones share it."""

    name = "best_single"
    title = "KD from each text's best teacher, by its label"
    reference = YUAN
    target_reads_labels = True

    def teacher_weights(self, rows: Rows, context: Context) -> Tensor:
        losses = teacher_losses(rows, context.space)
        if (answered := rows.counts()) is not None:
            losses = losses.masked_fill(~answered & answered.any(-1, keepdim=True), torch.inf)
        best = (losses == losses.amin(-1, keepdim=True)).to(losses)
        return best / best.sum(-1, keepdim=True)


def fitted_weights(likelihood: Tensor) -> Tensor:
    """The mixture weights, [N], that maximise Σ_n log Σ_k w_k likelihood[n, k] (float64)."""
    weights = likelihood.new_full((likelihood.shape[1],), 1 / likelihood.shape[1])
    for _ in range(ROUNDS):
        owned = weights * likelihood
        new = (owned / owned.sum(1, keepdim=True)).mean(0)
        if float((new - weights).abs().max()) < TOLERANCE:
            return new
        weights = new
    return weights


def uniform_mean(rows: Rows, context: Context, temperature: float) -> Tensor:
    """The mean of all teachers' outputs, softened. [B, C]"""
    return mixture(rows.equal_weights(), rows, context.space, temperature)


def _right(rows: Rows, context: Context) -> Tensor:
    """Whether each teacher's label is the true one, [B, N]."""
    answers = [context.space.scatter(k, t.probabilities()).argmax(-1) for k, t in enumerate(rows.teachers)]
    assert rows.labels is not None
    return torch.stack(answers, -1) == rows.labels.unsqueeze(-1)


def _normalised(weights: Tensor) -> Tensor:
    """Equal weights if all are 0, as those of teachers that are never right."""
    return (weights / weights.sum() if weights.any() else torch.full_like(weights, 1 / len(weights))).float()


def _one_hot(which: Tensor, rows: Rows) -> Tensor:
    return torch.nn.functional.one_hot(which, len(rows.teachers)).to(rows.teachers[0].logits)


def _size(rows: Rows) -> int:
    return len(rows.teachers[0].logits)
