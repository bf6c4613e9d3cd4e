"""RL-KD's agents: one logistic regression on the state per teacher, and what they record of a step and of the training."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from alloykit.labels import LabelSpace
from alloykit.methods.distillation import teacher_losses
from alloykit.outputs import Rows

FOLLOW = 0.1  # how fast the moving average and variance of the rewards follow them


class Policy(nn.Module):
    """π_k(1 | F) = σ(A_k · F + b_k). All that it holds is in buffers, hence in every checkpoint."""

    weight: Tensor
    bias: Tensor
    gradient: Tensor
    gradient_bias: Tensor
    average: Tensor
    variance: Tensor
    accuracy: Tensor
    steps: Tensor
    measured: Tensor
    seen: Tensor
    selected: Tensor
    empty: Tensor
    recent: Tensor

    def __init__(self, width: int, teachers: int, labels: int) -> None:
        super().__init__()
        sizes = {
            "weight": (teachers, width), "bias": (teachers,), "gradient": (teachers, width), "gradient_bias": (teachers,),
            "accuracy": (), "seen": (labels,), "selected": (labels, teachers), "empty": (labels,), "recent": (teachers + 2,),
        }  # fmt: skip
        for name, size in sizes.items():
            self.register_buffer(name, torch.zeros(size))
        for name in ("average", "variance"):
            self.register_buffer(name, torch.full((), torch.nan))  # no reward yet
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("measured", torch.full((), -1))
        self._actions: list[Tensor] = []
        self._losses: list[Tensor] = []

    def selects(self, state: Tensor) -> Tensor:
        """π_k(1 | F), [B, N]."""
        return torch.sigmoid(state @ self.weight.to(state).T + self.bias.to(state))

    def sample(self, state: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """1 for a selected teacher, else 0, sampled from π. [B, N]"""
        return torch.bernoulli(self.selects(state), generator=generator)

    @property
    def is_odd_step(self) -> bool:
        """Whether the current step is the 2nd, 4th, …: with `schedule: alternate` it is the policy's."""
        return int(self.steps) % 2 == 1

    def store_batch(self, actions: Tensor, losses: Tensor) -> None:
        """Store one batch of the step: the sampled actions, and the student's loss on each text before the step."""
        self._actions.append(actions)
        self._losses.append(losses)

    def stored_batches(self) -> tuple[Tensor, Tensor]:
        """Actions [n, N] and losses [n] of all batches of the step."""
        return torch.cat(self._actions), torch.cat(self._losses)

    def end_step(self) -> None:
        """Clear the stored batches and count the step."""
        self._actions, self._losses = [], []
        self.steps += 1

    def should_measure(self, every: int) -> bool:
        """Whether at least `every` steps have passed since this was last true."""
        due = int(self.measured) < 0 or int(self.steps) - int(self.measured) >= every
        if due:
            self.measured.copy_(self.steps)
        return due

    def advantage(self, rewards: Tensor) -> Tensor:
        """(r − r̄) / σ_r, [n]: moving average and spread of the rewards, these included; they begin with the first ones."""
        mean, begun = rewards.mean(), not bool(self.average.isnan())
        variance = (rewards - (self.average if begun else mean)).square().mean()
        for kept, new in ((self.average, mean), (self.variance, variance)):
            kept.copy_((1 - FOLLOW) * kept + FOLLOW * new if begun else new)
        rounding = 1e-5 * self.average.abs() + 1e-12  # rewards that are all the same have no spread but this
        return (rewards - self.average) / torch.maximum(self.variance.sqrt(), rounding)

    def collect(self, weight: Tensor, bias: Tensor) -> None:
        """Add to the gradient that `apply_gradient` uses."""
        self.gradient += weight.to(self.gradient)
        self.gradient_bias += bias.to(self.gradient)

    def apply_gradient(self, rate: float) -> None:
        """θ ← θ + β · the accumulated gradient."""
        self.weight += rate * self.gradient
        self.bias += rate * self.gradient_bias
        self.gradient.zero_()
        self.gradient_bias.zero_()

    def count(self, actions: Tensor, labels: Tensor) -> None:
        """Count the selections, for the report. actions [n, N], labels [n]."""
        self.seen.index_add_(0, labels, torch.ones_like(labels, dtype=self.seen.dtype))
        self.selected.index_add_(0, labels, actions.to(self.selected))
        none = (actions.sum(-1) == 0).to(self.empty)
        self.empty.index_add_(0, labels, none)
        self.recent += torch.cat([actions.sum(0), none.sum().view(1), none.new_full((1,), len(actions))]).to(
            self.recent
        )

    def shares(self) -> dict[str, float]:
        """Since the last call: how often each teacher was selected, and how often none."""
        *selected, none, n = self.recent.tolist()
        self.recent.zero_()
        return {f"selected_{k}": s / max(n, 1) for k, s in enumerate(selected)} | {"selected_none": none / max(n, 1)}

    def by_label(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """By label, how often each teacher was selected over the training, and how often none, as shares of its texts."""
        found = {}
        for c, name in enumerate(names):
            n = max(float(self.seen[c]), 1.0)
            found[name] = {
                "texts": int(self.seen[c]),
                "teachers": [float(s) / n for s in self.selected[c]],
                "none": float(self.empty[c]) / n,
            }
        return found


def features(rows: Rows, space: LabelSpace) -> Tensor:
    """F(x), [B, d + (C + 1) N] float32. TypeError without the encoder's states or labels."""
    if rows.text_states is None:
        raise TypeError("rl_kd needs the texts' states")
    answers = [space.scatter(k, t.probabilities()) for k, t in enumerate(rows.teachers)]
    return torch.cat([rows.text_states.float(), *answers, teacher_losses(rows, space)], -1).float()


def standardise(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and spread of each column; a column that does not vary has spread one."""
    spread = values.std(0, unbiased=False)
    return values.mean(0), torch.where(spread > 1e-6, spread, torch.ones_like(spread))


def score_gradient(probabilities: Tensor, actions: Tensor, kind: Literal["log", "paper"]) -> Tensor:
    """∂ log π(a) / ∂ logit = a − π, or ∂ π(a) / ∂ logit = ± π (1 − π). [B, N]"""
    if kind == "log":
        return actions - probabilities
    return (2 * actions - 1) * probabilities * (1 - probabilities)
