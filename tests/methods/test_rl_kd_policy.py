"""The policy of RL-KD against plain float64 loops: rewards, update, algorithm 2, measurements and its own pre-training."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from one_task import LABELS, ORDERS, B, answer, close, context, teacher_ce
from rl_kd_stage import ACTIONS, D, N, Stage, expected_rewards, expected_update, pull, with_states
from torch.nn import functional

from alloykit.methods.protocol import SkippedStep
from alloykit.methods.registry import create
from alloykit.methods.rl_kd.policy import Policy, features, score_gradient
from alloykit.outputs import Rows


@pytest.fixture
def seen(rows: Rows) -> Rows:
    return with_states(rows)


@pytest.mark.parametrize("reward", ["improvement", "reward1", "reward2", "reward3"])
@pytest.mark.parametrize("kind", ["log", "paper"])
@pytest.mark.parametrize(("baseline", "t", "sizes"), [(False, 1.0, (2, 3)), (False, 5.0, (B,)), (True, 1.0, (4, 1))])
def test_the_policys_step(reward: str, kind: str, baseline: bool, t: float, sizes: tuple[int, ...], seen: Rows) -> None:
    """Eqs. 7 and 8, L_DL without T² as Eq. 7 has it, and the baseline that is ours: at first the step's own mean and spread; nothing of rewards that are all
    the same. A step of two batches is one of all their texts."""
    about = {"reward": reward, "score": kind, "baseline": baseline, "temperature": t}
    stage = Stage(seen, ACTIONS, sizes, policy_learning_rate=0.3, **about)
    if reward != "improvement":
        stage.loss()
        stage.step()  # the student's turn: the policy stands still
        assert not stage.policy.weight.any()
    stage.loss()
    stage.step()
    rewards = expected_rewards(stage, reward)
    chosen = [r for r, a in zip(rewards, ACTIONS, strict=True) if any(a)]
    if baseline:
        average = sum(chosen) / len(chosen)
        spread = math.sqrt(sum((r - average) ** 2 for r in chosen) / len(chosen))
        rewards = [(r - average) / spread if reward == "improvement" else 0.0 for r in rewards]
    wanted = expected_update(stage, rewards, kind)
    torch.testing.assert_close(
        stage.policy.weight.double(), 0.3 * torch.tensor(wanted, dtype=torch.float64), rtol=1e-4, atol=1e-5
    )
    bias = [sum(rewards[x] * pull(ACTIONS[x][k], kind) for x in range(B) if any(ACTIONS[x])) / 4 for k in range(N)]
    close(stage.policy.bias, [0.3 * b for b in bias])


def test_rewards_are_measured_against_earlier_ones_in_their_own_spread() -> None:
    """The same advantages whatever unit the rewards have; average and variance follow at a tenth, and begin with the first rewards."""
    steps = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
    average = variance = math.nan
    policies = Policy(1, 1, 1), Policy(1, 1, 1)
    for rewards in steps.tolist():
        mean = sum(rewards) / len(rewards)
        new = sum((r - (mean if math.isnan(average) else average)) ** 2 for r in rewards) / len(rewards)
        average = mean if math.isnan(average) else 0.9 * average + 0.1 * mean
        variance = new if math.isnan(variance) else 0.9 * variance + 0.1 * new
        wanted = [(r - average) / math.sqrt(variance) for r in rewards]
        for policy, unit in zip(policies, (1.0, 1e-3), strict=True):
            close(policy.advantage(unit * torch.tensor(rewards)), wanted)
    for same in (-2.7182817, 0.0):
        assert float(Policy(1, 1, 1).advantage(torch.full((31,), same)).abs().max()) < 0.05


def test_the_scores_are_the_derivatives(seen: Rows) -> None:
    z = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    actions = (torch.rand(7, 2) > 0.5).double()
    pi = torch.sigmoid(z)
    likelihood = actions * pi + (1 - actions) * (1 - pi)
    (log,) = torch.autograd.grad(likelihood.log().sum(), z, retain_graph=True)
    (plain,) = torch.autograd.grad(likelihood.sum(), z)
    torch.testing.assert_close(score_gradient(pi.detach(), actions, "log"), log)
    torch.testing.assert_close(score_gradient(pi.detach(), actions, "paper"), plain)


def test_reward1_tells_no_selection_from_another_while_the_student_stands_still(seen: Rows) -> None:
    """The known fault of the paper's reward: it does not depend on the action at all."""
    found = []
    for actions in (ACTIONS, [[0, 1], [1, 0], [0, 1], [1, 1], [0, 1]]):
        stage = Stage(seen, actions, reward="reward1")
        sampled = torch.tensor(actions, dtype=torch.float32)
        step = stage.one_step(accuracy=0.0)
        found.append(stage.method._rewards(step, sampled, torch.zeros(B)))
    assert torch.equal(*found)


def test_reward2_is_largest_when_no_teacher_is_selected(seen: Rows) -> None:
    values = []
    for sampled in (torch.zeros(B, N), torch.ones(B, N), torch.tensor(ACTIONS, dtype=torch.float32)):
        stage = Stage(seen, reward="reward2")
        step = stage.one_step(accuracy=0.0)
        values.append(float(stage.method._rewards(step, sampled, torch.zeros(B))[0]))
    assert values[0] == max(values)


@pytest.mark.parametrize("who", [0, 1])
def test_reward2_praises_whoever_the_student_agrees_with_already(who: int, seen: Rows) -> None:
    """Right or wrong: the labels are in − CE, which does not depend on the selection."""
    values = []
    for k in range(N):
        stage = Stage(seen, reward="reward2")
        stage.after = torch.tensor([answer(seen, who, x) for x in range(B)]).log()
        sampled = torch.nn.functional.one_hot(torch.full((B,), k), N).float()
        values.append(float(stage.method._rewards(stage.one_step(accuracy=0.0), sampled, torch.zeros(B))[0]))
    assert values[who] > values[1 - who]


@pytest.mark.parametrize("pi", [0.2, 0.8])
def test_the_papers_score_drifts_to_one_half_where_rewards_are_negative(pi: float) -> None:
    """The expected step of a reward that is the same whatever is sampled: none by log π, towards ½ by π."""
    chance = torch.tensor([[pi]], dtype=torch.float64)

    def step(kind: Any) -> float:
        return sum(
            float(p * -1.0 * score_gradient(chance, torch.tensor([[a]]), kind)) for p, a in ((pi, 1.0), (1 - pi, 0.0))
        )

    assert step("log") == pytest.approx(0)
    assert step("paper") * (0.5 - pi) > 1e-3


def test_algorithm2_learns_at_the_end_of_an_epoch_from_all_of_it(seen: Rows) -> None:
    stage = Stage(seen, ACTIONS, schedule="algorithm2", baseline=False, policy_learning_rate=0.3)
    for last in (False, False, True):
        assert not stage.policy.weight.any()
        stage.loss()
        stage.step(last_of_epoch=last)
    once = torch.tensor(expected_update(stage, expected_rewards(stage, "improvement"), "log"), dtype=torch.float64)
    torch.testing.assert_close(stage.policy.weight.double(), 3 * 0.3 * once, rtol=1e-4, atol=1e-5)
    rewards = expected_rewards(stage, "improvement")
    bias = [sum(rewards[x] * pull(ACTIONS[x][k], "log") for x in range(B) if any(ACTIONS[x])) / 4 for k in range(N)]
    close(stage.policy.bias, [3 * 0.3 * b for b in bias])
    assert not stage.policy.gradient.any()
    assert not stage.policy.gradient_bias.any()


def test_algorithm2_skips_no_step(seen: Rows) -> None:
    """The policy learns from each step of the student, whatever the reward."""
    stage = Stage(seen, ACTIONS, schedule="algorithm2", reward="reward1", baseline=False)
    collected = []
    for _ in range(3):
        assert not isinstance(stage.loss(), SkippedStep)
        stage.step()
        collected.append(float(stage.policy.gradient.abs().sum()))
    assert collected == pytest.approx([collected[0], 2 * collected[0], 3 * collected[0]])


def test_the_policys_pre_training_is_the_same_each_time(seen: Rows) -> None:
    """Whatever random numbers the process has drawn before."""
    found = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        found.append(Stage(seen, policy_epochs=3).policy)
    assert torch.equal(found[0].weight, found[1].weight)
    assert found[0].bias.any()


def test_accuracy_is_measured_every_so_many_steps(seen: Rows) -> None:
    stage = Stage(seen, ACTIONS, reward="reward3", validate_every=4)
    kept = []
    for accuracy in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        stage.loss()
        stage.step(accuracy=accuracy)
        kept.append(round(float(stage.policy.accuracy), 3))
    assert kept == [0.0, 0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6], "on the policy's turns, four steps apart"


def test_a_measurement_is_due_after_so_many_steps() -> None:
    policy, due = Policy(1, 1, 1), []
    for _ in range(8):
        due.append(policy.should_measure(3))
        policy.end_step()
    assert due == [True, False, False] * 2 + [True, False]


def test_the_policys_pre_training(seen: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reward is − CE(y, mean of the selected teachers), against its mean and in its spread; a text without a teacher has none."""
    order = torch.randperm(B, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(Policy, "sample", lambda self, state, generator: torch.tensor(ACTIONS).float()[order])
    stage = Stage(seen, policy_epochs=1, policy_learning_rate=0.3)
    rewards = [0.0] * B
    for x in range(B):
        if chosen := [k for k in range(N) if ACTIONS[x][k]]:
            rewards[x] = math.log(sum(math.exp(-teacher_ce(seen, k, x)) for k in chosen) / len(chosen))
    taught = [r for r, a in zip(rewards, ACTIONS, strict=True) if any(a)]
    mean = sum(taught) / len(taught)
    spread = math.sqrt(sum((r - mean) ** 2 for r in taught) / len(taught))
    wanted = expected_update(stage, [(r - mean) / spread for r in rewards], "log")
    torch.testing.assert_close(
        stage.policy.weight.double(), 0.3 * torch.tensor(wanted, dtype=torch.float64), rtol=1e-4, atol=1e-5
    )


def test_pre_training_prefers_whoever_knows_the_label() -> None:
    """Algorithm 1, line 2, with − CE(y, mean of the selected): one teacher always right, one always wrong."""
    n = 256
    g = torch.Generator().manual_seed(0)
    labels = torch.randint(3, (n,), generator=g)
    right = 4 * functional.one_hot(labels, 3).float()
    wrong = 4 * functional.one_hot((labels + 1) % 3, 3).float()[:, [LABELS.index(name) for name in ORDERS[1]]]
    known = Rows((type_of(right), type_of(wrong)), labels, torch.randn(n, D, generator=g).half())

    class Everything:
        def __len__(self) -> int:
            return n

        def rows(self, at: Any) -> Rows:
            index = torch.tensor(list(at))
            teachers = tuple(type_of(t.logits[index]) for t in known.teachers)
            return Rows(teachers, labels[index], known.text_states[index])  # type: ignore[index]

    method = create({"name": "rl_kd", "policy_epochs": 10})
    bare = context(known)
    state = method.fit(Everything(), bare)
    f = (features(known, bare.space) - state["mean"]) / state["spread"]
    chance = torch.sigmoid(f @ state["weight"].T + state["bias"]).mean(0)
    assert float(chance[0]) > 0.7 > 0.4 > float(chance[1])


def type_of(logits: torch.Tensor) -> Any:
    from alloykit.outputs import TeacherRows

    return TeacherRows(logits)
