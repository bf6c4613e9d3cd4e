"""RL-KD against plain float64 loops: state, policy, rewards, update, schedules, and what happens when no teacher is selected."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import pytest
import torch
from one_task import LABELS, ORDERS, B, Pool, answer, close, context, soft_ce, softmax, student, teacher_ce
from torch.nn import functional

from alloykit.methods.protocol import LossInputs, Phase, SkippedStep, Step
from alloykit.methods.registry import create
from alloykit.methods.rl_kd.method import RLKD
from alloykit.methods.rl_kd.policy import Policy, features, score_gradient, standardise
from alloykit.outputs import Rows
from alloykit.testing.rows import take, unanswered

N, D = 2, 6
WIDTH = D + (len(LABELS) + 1) * N


@pytest.fixture
def seen(rows: Rows) -> Rows:
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


def test_the_state_is_what_the_paper_says(seen: Rows) -> None:
    stage = Stage(seen)
    f = features(seen, stage.context.space)
    assert f.shape == (B, WIDTH), "d + (C + 1) N"
    mean, spread = standardise(f)
    torch.testing.assert_close(
        ((f - mean) / spread).double(), torch.tensor(stage.state(), dtype=torch.float64), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(("alpha", "t"), [(0.5, 1.0), (0.2, 5.0)])
def test_the_students_loss(alpha: float, t: float, seen: Rows) -> None:
    """Eqs. 1–3 with the selected teachers' mean; a text with none has only its label, and leaves L_DL's mean."""
    stage = Stage(seen, ACTIONS, alpha=alpha, temperature=t)
    terms = stage.loss()
    taught, ce = [], []
    for x in range(B):
        s = stage.student.logits[x]
        chosen = [k for k in range(N) if ACTIONS[x][k]]
        each = [soft_ce(answer(seen, k, x, t), s, t) for k in chosen]
        taught.append(alpha * t**2 * sum(each) / len(each) if each else 0.0)
        ce.append((1 - alpha) * -math.log(softmax(s)[int(seen.labels[x])]))  # type: ignore[index]
    close(terms["ce"].detach(), ce)
    assert float(terms["distillation"].mean()) == pytest.approx(sum(taught) / 4, rel=1e-5), (
        "four of five texts are taught"
    )
    assert float(terms["distillation"][3]) == 0


def test_a_teacher_without_an_answer_is_not_selected(seen: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the policy's pre-training, nor for the student, nor in a check, which has all teachers with an answer."""
    there = torch.ones(B, N, dtype=torch.bool)
    there[1, 1], there[3] = False, False
    monkeypatch.setattr(Policy, "sample", lambda self, state, generator=None: torch.ones(len(state), N))
    learned: list[torch.Tensor] = []
    monkeypatch.setattr(RLKD, "_learn", lambda self, policy, state, actions, rewards: learned.append(actions))
    stage = Stage(unanswered(seen, there), policy_epochs=1)
    assert sorted(learned[0].tolist()) == sorted(there.float().tolist())
    for training in (True, False):
        term = stage.loss(training=training)["distillation"]
        assert float(term[3]) == 0
        alone = soft_ce(answer(seen, 0, 1), stage.student.logits[1])
        assert float(term[1]) == pytest.approx(0.5 * alone * B / 4, rel=1e-5)
    assert stage.policy.stored_batches()[0].tolist() == there.float().tolist()


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
            pull = _pull(a, kind)
            for c in range(WIDTH):
                out[k][c] += advantages[x] * pull * f[x][c] / len(chosen)
    return out


def _pull(action: int, kind: str) -> float:
    """∂ log π or ∂ π by the logit, at π = ½."""
    return action - 0.5 if kind == "log" else (1 if action else -1) * 0.25


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
    bias = [sum(rewards[x] * _pull(ACTIONS[x][k], kind) for x in range(B) if any(ACTIONS[x])) / 4 for k in range(N)]
    close(stage.policy.bias, [0.3 * b for b in bias])


def test_after_pre_training_the_students_turn_comes_first(seen: Rows) -> None:
    """However many steps the pre-training had."""
    stage = Stage(seen, ACTIONS, reward="reward1")
    pretrain = replace(stage.one_step(accuracy=0.0), phase=Phase("pretrain"))
    stage.loss("pretrain")
    with torch.no_grad():
        stage.method.after_step(pretrain)
    assert "distillation" in stage.loss(), "the policy's turn has no such term"


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


def test_the_student_stands_still_on_the_policys_turn(seen: Rows) -> None:
    stage = Stage(seen, ACTIONS, reward="reward1")
    logits = stage.student.logits.clone().requires_grad_()
    stage.student = replace(stage.student, logits=logits)
    skipped = []
    for _ in range(4):
        terms = stage.loss()
        skipped.append(isinstance(terms, SkippedStep))
        assert any(term.requires_grad for term in terms.values()) is not skipped[-1]
        stage.step()
    assert skipped == [False, True, False, True]


def test_algorithm2_learns_at_the_end_of_an_epoch_from_all_of_it(seen: Rows) -> None:
    stage = Stage(seen, ACTIONS, schedule="algorithm2", baseline=False, policy_learning_rate=0.3)
    for last in (False, False, True):
        assert not stage.policy.weight.any()
        stage.loss()
        stage.step(last_of_epoch=last)
    once = torch.tensor(expected_update(stage, expected_rewards(stage, "improvement"), "log"), dtype=torch.float64)
    torch.testing.assert_close(stage.policy.weight.double(), 3 * 0.3 * once, rtol=1e-4, atol=1e-5)
    rewards = expected_rewards(stage, "improvement")
    bias = [sum(rewards[x] * _pull(ACTIONS[x][k], "log") for x in range(B) if any(ACTIONS[x])) / 4 for k in range(N)]
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


@pytest.mark.parametrize("reward", ["improvement", "reward2"])
def test_a_step_without_any_teacher(reward: str, seen: Rows) -> None:
    """The student learns from the labels; the policy and what it knows of the rewards stand still."""
    stage = Stage(seen, [[0, 0]] * B, reward=reward)
    stage.policy.average.fill_(0.5)
    stage.policy.variance.fill_(2.0)
    for _ in range(2):
        terms = stage.loss()
        assert float(terms["ce"].min()) > 0
        assert "distillation" not in terms or terms["distillation"].tolist() == [0.0] * B
        stage.step()
    assert not stage.policy.weight.any()
    assert not stage.policy.bias.any()
    assert (float(stage.policy.average), float(stage.policy.variance)) == (0.5, 2.0)
    assert stage.logged[-1] == {"selected_0": 0, "selected_1": 0, "selected_none": 1}


def test_only_reward3_needs_validation_texts() -> None:
    rewards = ("improvement", "reward1", "reward2", "reward3")
    assert [create({"name": "rl_kd", "reward": r}).needs.validation for r in rewards] == [False, False, False, True]


@pytest.mark.parametrize(("epochs", "names"), [(0, ["joint"]), (2.5, ["pretrain", "joint"])])
def test_the_phases(epochs: float, names: list[str]) -> None:
    phases = create({"name": "rl_kd", "pretrain_epochs": epochs}).phases()
    assert [phase.name for phase in phases] == names
    assert [phase.epochs for phase in phases] == [epochs or None, None][-len(names) :]


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


def test_each_log_is_about_the_steps_since_the_last_one(seen: Rows) -> None:
    stage = Stage(seen, ACTIONS)
    for logs in (True, False, True):
        if logs and stage.logged:  # no teacher in the third step
            stage.policy.sample = lambda state, generator=None: torch.zeros(len(state), N)  # type: ignore[method-assign]
        stage.loss()
        stage.step(logs=logs)
    assert len(stage.logged) == 2
    assert stage.logged[1] == pytest.approx({"selected_0": 0.3, "selected_1": 0.2, "selected_none": 0.6})
    assert stage.policy.shares() == {"selected_0": 0, "selected_1": 0, "selected_none": 0}, "no step since then"
    assert Policy(1, 2, 1).by_label(["a"]) == {"a": {"texts": 0, "teachers": [0, 0], "none": 0}}


def test_what_was_selected_is_counted_and_logged(seen: Rows) -> None:
    stage = Stage(seen, ACTIONS)
    stage.loss()
    stage.step()
    (logged,) = stage.logged
    assert logged == pytest.approx({"selected_0": 0.6, "selected_1": 0.4, "selected_none": 0.2})
    history = [{"step": 3, "loss": 1.0}, {"step": 5, **logged}]
    (section,) = stage.method.training_report(stage.modules, stage.context, ["one", "two"], history).sections
    _, table, series = section.parts
    assert table.columns == ("label", "texts", "one", "two", "no teacher")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["a"] == (2, 1.0, 0.0, 0.0)
    assert rows["b"] == (2, 0.0, 0.5, 0.5)
    assert series.points == (5,)
    assert series.lines == {
        "one": (pytest.approx(0.6),),
        "two": (pytest.approx(0.4),),
        "no teacher": (pytest.approx(0.2),),
    }


def test_the_policy_is_in_the_checkpoint_and_not_in_the_optimisers_hands(seen: Rows) -> None:
    stage = Stage(seen)
    state = stage.modules.state_dict()
    assert {f"policy.{k}" for k in ("weight", "bias", "average", "steps", "selected")} <= set(state)
    assert [name for name, _ in stage.modules.named_parameters()] == []


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
