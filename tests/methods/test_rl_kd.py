"""RL-KD against plain float64 loops: state, loss of the student, turns, phases, log, report and checkpoint."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from one_task import B, answer, close, soft_ce, softmax
from rl_kd_stage import ACTIONS, WIDTH, N, Stage, with_states

from alloykit.methods.protocol import Phase, SkippedStep
from alloykit.methods.registry import create
from alloykit.methods.rl_kd.method import RLKD
from alloykit.methods.rl_kd.policy import Policy, features, standardise
from alloykit.outputs import Rows
from alloykit.testing.rows import unanswered


@pytest.fixture
def seen(rows: Rows) -> Rows:
    return with_states(rows)


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


def test_after_pre_training_the_students_turn_comes_first(seen: Rows) -> None:
    """However many steps the pre-training had."""
    stage = Stage(seen, ACTIONS, reward="reward1")
    pretrain = replace(stage.one_step(accuracy=0.0), phase=Phase("pretrain"))
    stage.loss("pretrain")
    with torch.no_grad():
        stage.method.after_step(pretrain)
    assert "distillation" in stage.loss(), "the policy's turn has no such term"


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
