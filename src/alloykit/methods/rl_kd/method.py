"""RL-KD: one agent per teacher decides, text by text, whether its teacher teaches (Yuan et al. 2021).

State (§State, Eqs. 4–5)    F(x) = [R(x); p_1(x); …; p_N(x); CE_1; …; CE_N],  R: [CLS] of a frozen encoder that is no teacher
Action (Eq. 6)              π_k(1 | F) = σ(A_k · F + b_k), sampled for every text and teacher
Student (Eqs. 1–3)          α T² L_DL + (1 − α) CE(y, q), L_DL with the mean of the selected teachers' outputs
Reward (Eq. 7)              reward1 = − CE;  reward2 = − CE − L_DL;  reward3 = γ reward2 + (1 − γ) accuracy on validation texts
Policy (Eq. 8)              θ ← θ + β mean_j (r_j − r̄) / σ_r Σ_k ∇ log π_k(a_jk)

Ours: `reward: improvement`, r_j = CE_j before − CE_j after the student's step with these actions (the paper's rewards do not
tell one selection from another while the student stands still); r̄ and σ_r, moving average and spread; log π, where the
paper prints π (`score: paper`); means in place of sums. So β depends neither on the rewards' unit nor on how many texts a batch has. F is standardised over the pool.
A text with no selected teacher has only its (1 − α) CE, and leaves L_DL's mean and the policy's gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from alloykit.methods.distillation import (
    DistillationOptions,
    label_loss,
    mixture,
    soft_cross_entropy,
    teacher_losses,
    true_labels,
)
from alloykit.methods.protocol import Context, LossInputs, Method, Needs, Phase, SkippedStep, State, Step, TextStates
from alloykit.methods.report_sections import MethodReport, Section, Series, Table, Text
from alloykit.methods.rl_kd.policy import Policy, features, score_gradient, standardise
from alloykit.outputs import Rows, Source, chunks, sample

PRETRAIN, JOINT = "pretrain", "joint"
SELECTION, NO_TEACHER = (
    "Share of each label's texts for which each teacher was selected, after the first phase",
    "no teacher",
)
SEEN, BATCH = 20_000, 32  # texts of the pool that the policy sees beforehand, and how many at a time


class RLKDOptions(DistillationOptions):
    reward: Literal["improvement", "reward1", "reward2", "reward3"] = "improvement"
    """The reward of a selection; reward1 to reward3 are those of Eq. 7."""
    schedule: Literal["alternate", "algorithm2"] = "alternate"
    """alternate: one step of the student, one of the policy (with `improvement` the policy learns from every student's step);
    algorithm2: an epoch of student steps, then the policy from their history."""
    gamma: float = Field(0.5, ge=0, le=1)
    """Share of reward2 in reward3 (the paper tries 0.3, 0.5, 0.7, 0.9)."""
    validate_every: int = Field(20, gt=0)
    """Steps between measurements of the accuracy in reward3 (at most 256 texts each time); in between the last measured accuracy counts."""
    policy_learning_rate: float = Field(0.1, gt=0)
    """β of Eq. 8; the paper does not state it."""
    score: Literal["log", "paper"] = "log"
    """∇ log π (REINFORCE), or ∇ π as Eq. 8 prints."""
    baseline: bool = True
    """Rewards less their moving average, in units of their moving spread."""
    pretrain_epochs: float = Field(1.0, ge=0)
    """Epochs in which the student learns from the mean of all teachers first (Algorithm 1; the paper: 4 at most)."""
    policy_epochs: int = Field(1, ge=0)
    """Epochs in which the policy learns first, by − CE(y, mean of the selected)."""
    encoder: str = "bundled:minilm"
    """R: a folder, a hub id, or bundled:minilm (the paper: BERT-base as it was pre-trained)."""


class RLKD(Method):
    """Teachers chosen text by text by a policy that learns with the student."""

    name = "rl_kd"
    title = "RL-KD: a learnt policy selects each text's teachers, with labels"
    reference = "Yuan et al. 2021"
    citation = (
        "Fei Yuan, Linjun Shou, Jian Pei, Wutao Lin, Ming Gong, Yan Fu, Daxin Jiang. Reinforced Multi-Teacher Selection for "
        "Knowledge Distillation. AAAI 2021."
    )
    Options = RLKDOptions
    options: RLKDOptions
    one_task = True
    single_target = False

    @property
    def needs(self) -> Needs:
        validation = self.options.reward == "reward3"
        return Needs(labels=True, text_states=TextStates(self.options.encoder), validation=validation)

    @property
    def batch_coupled(self) -> bool:
        return True

    def phases(self) -> tuple[Phase, ...]:
        first = (Phase(PRETRAIN, self.options.pretrain_epochs),) if self.options.pretrain_epochs else ()
        return (*first, Phase(JOINT))

    def fit(self, pool: Source, context: Context) -> State:
        """Mean and spread of F over the pool, and the policy after its own pre-training (Algorithm 1, line 2)."""
        seen = [
            (features(rows, context.space), teacher_losses(rows, context.space)) for rows in chunks(sample(pool, SEEN))
        ]
        mean, spread = standardise(torch.cat([f for f, _ in seen]))
        state, likelihood = (torch.cat([f for f, _ in seen]) - mean) / spread, torch.cat([(-c).exp() for _, c in seen])
        answered = torch.cat([_answered(rows) for rows in chunks(sample(pool, SEEN))])
        policy, generator = self._policy(mean, context), torch.Generator().manual_seed(0)
        for _ in range(self.options.policy_epochs):
            for part in torch.split(torch.randperm(len(state), generator=generator), BATCH):
                actions = policy.sample(state[part], generator) * answered[part]
                mean_of_selected = (_shares(actions) * likelihood[part]).sum(-1)
                self._learn(policy, state[part], actions, mean_of_selected.log())
        return {"mean": mean, "spread": spread, "weight": policy.weight, "bias": policy.bias}

    def modules(self, context: Context) -> nn.ModuleDict:
        """The policy, which every checkpoint holds. It learns in `after_step`, not by the student's optimiser."""
        policy = self._policy(context.state["mean"], context)
        policy.weight.copy_(context.state["weight"])
        policy.bias.copy_(context.state["bias"])
        return nn.ModuleDict({"policy": policy})

    def supervise(self, rows: Rows, context: Context) -> None:
        return None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        rows, policy = inputs.rows, cast("Policy", inputs.modules["policy"])
        if inputs.phase.name == PRETRAIN or not inputs.training:  # checks use all teachers, so that they are not random
            actions = _answered(rows)
        else:
            actions = policy.sample(self._state(rows, inputs.context)) * _answered(rows)
            before = inputs.eval_logits() if self.options.reward == "improvement" else inputs.student.logits.detach()
            policy.store_batch(actions, functional.cross_entropy(before, true_labels(rows), reduction="none"))
            if self._is_policy_step(policy):
                return SkippedStep(ce=label_loss(inputs).detach())
        from_teachers, chosen = self._from_teachers(actions, rows, inputs.context, inputs.student.logits)
        alpha, share = self.options.alpha, chosen.sum().clamp(min=1) / len(chosen)
        return {"distillation": alpha * from_teachers * chosen / share, "ce": (1 - alpha) * label_loss(inputs)}

    def after_step(self, step: Step) -> None:
        """The policy learns (Eq. 8), at once or at the end of the epoch."""
        policy = cast("Policy", step.modules["policy"])
        if step.phase.name == PRETRAIN:
            return
        actions, before = policy.stored_batches()
        policy.count(actions, torch.cat([true_labels(rows) for rows in step.rows]))
        at_once = self.options.schedule == "alternate"
        if not at_once or self.options.reward == "improvement" or self._is_policy_step(policy):
            state = torch.cat([self._state(rows, step.context) for rows in step.rows])
            policy.collect(*self._gradient(policy, state, actions, self._rewards(step, actions, before)))
        if at_once or step.last_of_epoch:
            policy.apply_gradient(self.options.policy_learning_rate)
        policy.end_step()
        if step.logs:
            step.log(policy.shares())

    def training_report(
        self, modules: nn.ModuleDict, context: Context, teachers: Sequence[str], history: Sequence[Mapping[str, Any]]
    ) -> MethodReport:
        """How often each teacher was selected, by label and over the training."""
        by_label = cast("Policy", modules["policy"]).by_label(list(context.space.names))
        noted = [h for h in history if "selected_none" in h]
        keys = {name: f"selected_{i}" for i, name in enumerate(teachers)} | {NO_TEACHER: "selected_none"}
        parts: list[Text | Table | Series] = [
            Text(text="The policy decides text by text which teachers teach. A text for which it selects no teacher learns from its label alone."),
            Table(
                caption=SELECTION,
                columns=("label", "texts", *teachers, NO_TEACHER),
                rows=tuple((label, s["texts"], *s["teachers"], s["none"]) for label, s in by_label.items()),
                percent=(*teachers, NO_TEACHER),
            ),
        ]  # fmt: skip
        if noted:
            parts.append(
                Series.of_many(
                    caption="Teachers that the policy selected, over the training.",
                    x="step",
                    y="texts selected for (%)",
                    points=tuple(h["step"] for h in noted),
                    lines={name: [h[key] for h in noted] for name, key in keys.items()},
                    percent=True,
                )
            )
        return MethodReport(sections=(Section(title="Teachers selected by the policy", parts=tuple(parts)),))

    def _policy(self, mean: Tensor, context: Context) -> Policy:
        return Policy(len(mean), len(context.space.teachers), context.space.size)

    def _is_policy_step(self, policy: Policy) -> bool:
        o = self.options
        return o.schedule == "alternate" and o.reward != "improvement" and policy.is_odd_step

    def _state(self, rows: Rows, context: Context) -> Tensor:
        mean, spread = context.state["mean"], context.state["spread"]
        f = features(rows, context.space)
        return (f - mean.to(f)) / spread.to(f)

    def _from_teachers(self, actions: Tensor, rows: Rows, context: Context, logits: Tensor) -> tuple[Tensor, Tensor]:
        """T² L_DL of each text and whether a teacher is selected for it. [B], [B]"""
        target = mixture(_shares(actions), rows, context.space, self.options.temperature)
        return soft_cross_entropy(target, logits, self.options.temperature), (actions.sum(-1) > 0).to(logits)

    def _rewards(self, step: Step, actions: Tensor, before: Tensor) -> Tensor:
        """r_j of each text of the step, [n]. The rewards of Eq. 7 are the whole step's, the same for each of its texts."""
        logits = torch.cat([step.eval_logits(batch) for batch in step.batches])
        labels = torch.cat([true_labels(rows) for rows in step.rows])
        ce = functional.cross_entropy(logits, labels, reduction="none")
        if self.options.reward == "improvement":
            return before - ce
        reward = -ce.mean()
        if self.options.reward != "reward1":
            at, from_teachers, chosen = 0, [], []
            for rows in step.rows:
                n = len(true_labels(rows))
                part = self._from_teachers(actions[at : at + n], rows, step.context, logits[at : at + n])
                from_teachers.append(part[0])
                chosen.append(part[1])
                at += n
            who = torch.cat(chosen)
            reward = (
                reward - (torch.cat(from_teachers) * who).sum() / who.sum().clamp(min=1) / self.options.temperature**2
            )
        if self.options.reward == "reward3":
            policy = cast("Policy", step.modules["policy"])
            if policy.should_measure(self.options.validate_every):
                policy.accuracy.fill_(step.validation_accuracy())
            reward = self.options.gamma * reward + (1 - self.options.gamma) * policy.accuracy
        return reward.expand(len(actions))

    def _gradient(self, policy: Policy, state: Tensor, actions: Tensor, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Eq. 8's gradient for A and b: the mean over the texts with a selected teacher."""
        chosen = actions.sum(-1) > 0
        if not bool(chosen.any()):
            return torch.zeros_like(policy.weight), torch.zeros_like(policy.bias)
        state, actions, rewards = state[chosen], actions[chosen], rewards.to(state)[chosen]
        advantage = policy.advantage(rewards) if self.options.baseline else rewards
        pull = (
            advantage.unsqueeze(-1) * score_gradient(policy.selects(state), actions, self.options.score) / len(rewards)
        )
        return pull.T @ state, pull.sum(0)

    def _learn(self, policy: Policy, state: Tensor, actions: Tensor, rewards: Tensor) -> None:
        policy.collect(*self._gradient(policy, state, actions, rewards))
        policy.apply_gradient(self.options.policy_learning_rate)


def _answered(rows: Rows) -> Tensor:
    """1 for a teacher that has an answer to a text, else 0. A teacher without one is never selected. [B, N] float32"""
    answered, logits = rows.counts(), rows.teachers[0].logits
    return logits.new_ones(len(logits), len(rows.teachers)) if answered is None else answered.to(logits)


def _shares(actions: Tensor) -> Tensor:
    """1/|K| for the selected teachers; zeros where no teacher is selected. [B, N]"""
    return actions / actions.sum(-1, keepdim=True).clamp(min=1)
