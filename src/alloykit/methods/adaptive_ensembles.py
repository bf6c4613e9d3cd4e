"""Two ensemble distillations that MT-BERT is compared with in its Fig. 3, as far as they are about classification.

You et al. 2017, "Learning from Multiple Teacher Networks":
    L = CE(y, q) + α T² KL(mean_i p_i ‖ q) + β · mean over triplets of max(0, d_near − d_far + margin)
    For texts (a, b, c) the teachers vote, by their middle states, which of b and c is nearer to a; d are the student's
    distances there. Simplified: one middle layer, mean over tokens, normalised distances, triplets of neighbours in the batch.

Liu et al. 2020, "Adaptive multi-teacher multi-level knowledge distillation":
    w(x) = softmax_i(vᵀ tanh(θ_i ⊙ f(x))),  f the student's mean last state;  L = CE(y, q) + α T² CE(Σ_i w_i p_i, q)
    Simplified: without the hints and the angles between texts. The weights are learnt through CE(y, Σ_i w_i p_i) (ours): through
    the student's own loss they would prefer whatever teacher it already agrees with.
"""

from __future__ import annotations

import math

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from alloykit.losses.distances import direction_distances
from alloykit.losses.hidden import masked_mean
from alloykit.losses.kl import kl
from alloykit.methods.distillation import TINY, has_answer, label_loss, mixture, soft_cross_entropy, true_labels
from alloykit.methods.ensembles import uniform_mean
from alloykit.methods.protocol import Context, LossInputs, Method, MethodOptions, Needs, Supervision, uniform_weights
from alloykit.outputs import Rows

NEIGHBOURS = 4  # b and c are among so many texts that follow a in the batch


class YouOptions(MethodOptions):
    alpha: float = Field(1.0, ge=0)
    """Weight of the mean of the teachers' outputs."""
    temperature: float = Field(1.0, gt=0)
    """T, for teachers and student alike; the teachers' loss is multiplied by T²."""
    beta: float = Field(1.0, ge=0)
    """Weight of the relative dissimilarity."""
    margin: float = Field(0.1, ge=0)
    """By how much the nearer text must be nearer."""


class DissimilarityEnsemble(Method):
    """The mean of the outputs, and which texts the teachers find alike."""

    name = "dissimilarity_ensemble"
    title = "KD from the mean of all teachers, and from which texts they find alike"
    reference = "You et al. 2017"
    citation = (
        "Shan You, Chang Xu, Chao Xu, Dacheng Tao. Learning from Multiple Teacher Networks. KDD 2017 (simplified)."
    )
    Options = YouOptions
    options: YouOptions
    one_task = True
    softened_by = "temperature"

    @property
    def needs(self) -> Needs:
        return Needs(labels=True, pooled_states=True, student_hidden_states=True)

    @property
    def batch_coupled(self) -> bool:
        return True

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The middle one."""
        return tuple((math.ceil(t.layers / 2),) for t in context.teachers)

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        targets = uniform_mean(rows, context, self.options.temperature)
        return Supervision(targets, uniform_weights(targets))

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        o, student = self.options, inputs.student
        if student.hidden_states is None or student.attention_mask is None:
            raise TypeError("dissimilarity_ensemble needs the student's hidden states")
        middle = student.hidden_states[math.ceil(inputs.context.student_shape.layers / 2)]
        student_states = masked_mean(middle.to(student.logits.dtype), student.attention_mask)
        teacher_states = [
            t.pooled_states[0].to(student_states) for t in inputs.rows.teachers if t.pooled_states is not None
        ]
        return {
            "ce": label_loss(inputs),
            "kl": o.alpha * inputs.target.weights * kl(inputs.target.targets, student.logits, o.temperature),
            "dissimilarity": o.beta * dissimilarity(student_states, teacher_states, o.margin),
        }


def dissimilarity(student: Tensor, teachers: list[Tensor], margin: float) -> Tensor:
    """The mean over the batch's triplets: a scalar, 0 for fewer than three texts. student [B, d], teachers [B, d_i] each."""
    n = len(student)
    a, b, c = (torch.tensor(x, dtype=torch.long, device=student.device) for x in _triplets(n))
    if not len(a):
        return student.sum() * 0
    votes = torch.stack(
        [(direction_distances(t, t)[a, b] < direction_distances(t, t)[a, c]).to(student) for t in teachers]
    ).mean(0)
    nearer = torch.where(votes > 0.5, 1.0, torch.where(votes < 0.5, -1.0, 0.0)).to(student)  # a tie has no vote
    apart = direction_distances(student, student)
    each = functional.relu(nearer * (apart[a, b] - apart[a, c]) + margin)
    return (each * nearer.abs()).sum() / nearer.abs().sum().clamp(min=1)


def _triplets(n: int) -> tuple[list[int], list[int], list[int]]:
    most = min(NEIGHBOURS, n - 1)
    found = [
        (a, (a + i) % n, (a + j) % n) for a in range(n) for i in range(1, most + 1) for j in range(i + 1, most + 1)
    ]
    return [t[0] for t in found], [t[1] for t in found], [t[2] for t in found]


class AdaptiveOptions(MethodOptions):
    alpha: float = Field(1.0, ge=0)
    """Weight of the teachers' outputs beside the labels."""
    temperature: float = Field(1.0, gt=0)
    """T, for teachers and student alike; the teachers' loss is multiplied by T²."""


class AdaptiveEnsemble(Method):
    """Weights by text, learnt with the student."""

    name = "adaptive_ensemble"
    title = "KD from a mean of the teachers whose weights are learnt by text"
    reference = "Liu et al. 2020"
    citation = "Yuang Liu, Wei Zhang, Jun Wang. Adaptive Multi-Teacher Multi-level Knowledge Distillation. Neurocomputing 2020 (simplified)."
    Options = AdaptiveOptions
    options: AdaptiveOptions
    one_task = True
    single_target = False  # the weights come from the student

    @property
    def needs(self) -> Needs:
        return Needs(labels=True, student_hidden_states=True)

    def modules(self, context: Context) -> nn.ModuleDict:
        width = context.student_shape.hidden_size
        factors = nn.Linear(width, len(context.teachers), bias=False)  # a row for each θ_i
        return nn.ModuleDict({"factors": factors, "vote": nn.Linear(width, 1, bias=False)})

    def supervise(self, rows: Rows, context: Context) -> None:
        return None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        o, student, space = self.options, inputs.student, inputs.context.space
        if student.hidden_states is None or student.attention_mask is None:
            raise TypeError("adaptive_ensemble needs the student's hidden states")
        weight = inputs.modules["factors"].weight
        assert isinstance(weight, Tensor)
        feature = masked_mean(student.hidden_states[-1].detach().to(weight.dtype), student.attention_mask)
        scores = inputs.modules["vote"](torch.tanh(feature.unsqueeze(1) * weight)).squeeze(-1)
        weights = inputs.rows.weighed(scores.softmax(-1))  # [B, N]
        answered = has_answer(weights, inputs.rows).to(weights)
        probability = (
            mixture(weights, inputs.rows, space, 1.0).gather(-1, true_labels(inputs.rows).unsqueeze(-1)).squeeze(-1)
        )
        target = mixture(weights.detach(), inputs.rows, space, o.temperature)
        return {
            "ce": label_loss(inputs),
            "distillation": o.alpha * answered * soft_cross_entropy(target, student.logits, o.temperature),
            "weights": -answered * probability.clamp(min=TINY).log(),
        }
