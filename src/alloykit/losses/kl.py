"""Kullback–Leibler divergences between a target and a student, with their normalisation stated.

Each returns one value per text, [B], in nats. It is the sum over classes, not divided by their number.
`temperature` T divides the student's logits and multiplies the loss by T² (Hinton et al. 2015), so that
gradients keep their size. The caller must have softened the target.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from alloykit.errors import AlloyError


def kl(target: Tensor, logits: Tensor, temperature: float = 1.0) -> Tensor:
    """T² KL(target ‖ softmax(logits / T)). target [B, C] sums to one, zeros allowed; logits [B, C] → [B]."""
    log_q = torch.log_softmax(logits / temperature, dim=-1)
    return temperature**2 * (torch.xlogy(target, target) - target * log_q).sum(-1)


def reverse_kl(target: Tensor, logits: Tensor, smoothing: float = 0.0, temperature: float = 1.0) -> Tensor:
    """T² KL(softmax(logits / T) ‖ (1 − ε) target + ε / C), the direction in the papers' formulas. → [B].

    It is infinite if the target has a zero. A target with zeros needs smoothing ε > 0 (AlloyError otherwise).
    """
    smoothed = (1 - smoothing) * target + smoothing / target.shape[-1]
    if bool((smoothed <= 0).any()):
        raise AlloyError(
            expected="a target without zeros for `direction: reverse`",
            got="a target that gives zero to some class",
            hint="KL(student ‖ target) is infinite there. Set `smoothing` (for instance 0.001) or `direction: forward`.",
        )
    log_q = torch.log_softmax(logits / temperature, dim=-1)
    return temperature**2 * (log_q.exp() * (log_q - smoothed.log())).sum(-1)


def binary_kl(target: Tensor, logits: Tensor) -> Tensor:
    """KL of one yes-or-no answer: p log(p / q) + (1 − p) log((1 − p) / (1 − q)) with q = σ(logit). target, logits [...], 0 and 1 allowed → [...]."""
    log_q, log_not = functional.logsigmoid(logits), functional.logsigmoid(-logits)
    entropy = torch.xlogy(target, target) + torch.xlogy(1 - target, 1 - target)
    return entropy - target * log_q - (1 - target) * log_not


def grouped_kl(target: Tensor, logits: Tensor, groups: Tensor, temperature: float = 1.0) -> Tensor:
    """KL(W ‖ Q) + T² Σ_g W_g KL(target_g / W_g ‖ softmax(logits_g / T)): the KL of a mixture, softened only within groups.

    groups [C] int64 numbers the group of each class (a component of the label space; for disjoint label sets, the
    teacher). W_g and Q_g are the masses that the target and the student (at T = 1) give to group g. The routing term
    KL(W ‖ Q) is not softened, because T belongs to the teachers' outputs and not to the routing. At T = 1 the sum
    equals KL(target ‖ softmax(logits)), by the chain rule. → [B].
    """
    n = int(groups.max()) + 1
    zeros = target.new_zeros(*target.shape[:-1], n)
    mass = zeros.index_add(-1, groups, target)
    log_q = torch.log_softmax(logits, dim=-1)
    log_mass = grouped_logsumexp(log_q, groups, n)
    routing = (torch.xlogy(mass, mass) - mass * log_mass).sum(-1)
    softened = logits / temperature
    log_within = softened - grouped_logsumexp(softened, groups, n)[..., groups]
    # Σ_g W_g KL(t_g / W_g ‖ ·) = Σ_c t_c (log t_c − log W_g(c) − log within_c); xlogy keeps 0 log 0 = 0.
    within = torch.xlogy(target, target) - torch.xlogy(target, mass[..., groups]) - target * log_within
    return routing + temperature**2 * within.sum(-1)


def grouped_logsumexp(values: Tensor, groups: Tensor, n: int) -> Tensor:
    """log Σ_{c in g} exp(values_c) for each of n groups. values [..., C], groups [C] → [..., n]."""
    members = torch.arange(n, device=groups.device).unsqueeze(-1) == groups  # [n, C]
    return values.unsqueeze(-2).masked_fill(~members, float("-inf")).logsumexp(-1)
