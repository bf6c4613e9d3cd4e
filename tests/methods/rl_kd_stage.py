"""RL-KD in the middle of its training, and what its policy should learn there, by plain float64 loops."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import torch
from one_task import LABELS, B, Pool, answer, context, soft_ce, softmax, student, teacher_ce

from alloykit.methods.protocol import LossInputs, Phase, Step
from alloykit.methods.registry import create
from alloykit.methods.rl_kd.policy import Policy
from alloykit.outputs import Rows
from alloykit.testing.rows import take

N, D = 2, 6
WIDTH = D + (len(LABELS) + 1) * N


def with_states(rows: Rows) -> Rows:
    """The rows, with random [CLS] states."""
    return replace(rows, text_states=torch.randn(B, D, generator=torch.Generator().manual_seed(7)).half())


class Stage:
    """A method in the middle of its training: a step of one batch or, with `sizes`, of several; a student that answers as told."""

    def __init__(
        self, known: Rows, actions: list[list[int]] | None = None, sizes: tuple[int, ...] = (B,), **options: Any
    ) -> None:
        self.method = create({"name": "rl_kd", "policy_epochs": 0, "pretrain_epochs": 0, **options})
        bare = context(known)
        self.context = replace(bare, state=dict(self.method.fit(Pool(known), bare)))
        self.modules = self.method.modules(self.context)
        self.policy: Policy = self.modules["policy"]  # type: ignore[assignment]
        self.rows, self.student = known, student()
        self.batches = [{"texts": texts} for texts in torch.arange(B).split(list(sizes))]
        self.before = torch.zeros(B, 3)
        self.after = torch.randn(B, 3, generator=torch.Generator().manual_seed(11))
        self.logged: list[dict[str, float]] = []
        if actions is not None:
            sampled = cycle(torch.tensor(actions, dtype=torch.float32).split(list(sizes)))
            self.policy.sample = lambda state, generator=None: next(sampled)  # type: ignore[method-assign]

    def loss(self, phase: str = "joint", *, training: bool = True) -> dict[str, torch.Tensor]:
        """The terms of the last batch."""
        for batch in self.batches:
            at = batch["texts"]
            said, rows = replace(self.student, logits=self.student.logits[at]), take(self.rows, at.tolist())
            before = partial(self.before.index_select, 0, at)
            terms = self.method.loss(
                LossInputs(said, rows, None, self.modules, self.context, Phase(phase), before, training)
            )
        return terms

    def step(self, **about: Any) -> None:
        about = {"logs": True, "last_of_epoch": False, "accuracy": 0.75} | about
        accuracy = about.pop("accuracy")
        with torch.no_grad():
            self.method.after_step(self.one_step(accuracy, **about))

    def one_step(self, accuracy: float, **about: Any) -> Step:
        rows = tuple(take(self.rows, batch["texts"].tolist()) for batch in self.batches)
        return Step(
            torch.nn.Module(), self.modules, tuple(self.batches), rows, self.context, Phase("joint"),
            lambda batch: self.after[batch["texts"]], lambda: accuracy, self.logged.append, **about,
        )  # fmt: skip

    def state(self) -> list[list[float]]:
        """F of each text, standardised, in float64."""
        f = []
        for x in range(B):
            known = [float(v) for v in self.rows.text_states[x]]  # type: ignore[index]
            for k in range(N):
                known += answer(self.rows, k, x)
            known += [teacher_ce(self.rows, k, x) for k in range(N)]
            f.append(known)
        for c in range(WIDTH):
            column = [row[c] for row in f]
            mean = sum(column) / B
            spread = math.sqrt(sum((v - mean) ** 2 for v in column) / B)
            for row in f:
                row[c] = (row[c] - mean) / (spread if spread > 1e-6 else 1.0)
        return f


ACTIONS = [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]]


def expected_rewards(stage: Stage, reward: str, gamma: float = 0.5, accuracy: float = 0.75) -> list[float]:
    labels, t = [int(y) for y in stage.rows.labels], stage.method.options.temperature  # type: ignore[union-attr]
    before = [-math.log(softmax(stage.before[x])[labels[x]]) for x in range(B)]
    after = [-math.log(softmax(stage.after[x])[labels[x]]) for x in range(B)]
    if reward == "improvement":
        return [a - b for a, b in zip(before, after, strict=True)]
    r = -sum(after) / B
    if reward != "reward1":
        dl = []
        for x in range(B):
            chosen = [k for k in range(N) if ACTIONS[x][k]]
            if chosen:
                each = [soft_ce(answer(stage.rows, k, x, t), stage.after[x], t) for k in chosen]
                dl.append(sum(each) / len(each))
        r -= sum(dl) / len(dl)
    if reward == "reward3":
        r = gamma * r + (1 - gamma) * accuracy
    return [r] * B


def expected_update(stage: Stage, advantages: list[float], kind: str) -> list[list[float]]:
    """mean_j advantage_j ∇ log π over the texts for which somebody was selected, at θ = 0 (π = ½)."""
    f = stage.state()
    chosen = [x for x in range(B) if any(ACTIONS[x])]
    out = [[0.0] * WIDTH for _ in range(N)]
    for x in chosen:
        for k in range(N):
            a = ACTIONS[x][k]
            slope = pull(a, kind)
            for c in range(WIDTH):
                out[k][c] += advantages[x] * slope * f[x][c] / len(chosen)
    return out


def pull(action: int, kind: str) -> float:
    """∂ log π or ∂ π by the logit, at π = ½."""
    return action - 0.5 if kind == "log" else (1 if action else -1) * 0.25
