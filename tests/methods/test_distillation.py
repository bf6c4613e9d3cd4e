"""L_KD, its ensembles, MT-BERT's temperature and Liu et al., against plain float64 loops."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from one_task import (
    B,
    Pool,
    answer,
    close,
    context,
    inputs,
    soft_ce,
    softmax,
    teacher_ce,
)
from scipy.optimize import minimize

from alloykit.errors import AlloyError
from alloykit.methods.ensembles import fitted_weights
from alloykit.methods.registry import create
from alloykit.methods.requirements import supervised
from alloykit.outputs import LabelsOnly, Rows
from alloykit.testing.rows import unanswered


def expected_weights(spec: dict[str, Any], rows: Rows, x: int) -> list[float]:
    name = spec["name"]
    if name == "kd":
        return [1.0 if k == spec["which"] else 0.0 for k in range(2)]
    if name == "best_single":
        losses = [teacher_ce(rows, k, x) for k in range(2)]
        return [1.0 if c == min(losses) else 0.0 for c in losses]
    if name == "w_ensemble" and "weights" in spec:
        return [w / sum(spec["weights"]) for w in spec["weights"]]
    if name == "w_ensemble":
        right = [sum(int(np.argmax(answer(rows, k, n))) == int(rows.labels[n]) for n in range(B)) for k in range(2)]
        return [r / sum(right) for r in right]
    return [0.5, 0.5]


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "kd", "which": 1},
        {"name": "u_ensemble"},
        {"name": "w_ensemble", "weights": [3.0, 1.0]},
        {"name": "w_ensemble"},
        {"name": "best_single"},
    ],
    ids=str,
)
@pytest.mark.parametrize(("alpha", "t"), [(0.5, 1.0), (0.2, 5.0)])
def test_l_kd_with_fixed_weights(spec: dict[str, Any], alpha: float, t: float, rows: Rows) -> None:
    """RL-KD Eqs. 1–3."""
    method, seen = inputs(rows, **spec, alpha=alpha, temperature=t)
    terms = method.loss(seen)
    taught, ce = [], []
    for x in range(B):
        w = expected_weights(spec, rows, x)
        s = seen.student.logits[x]
        taught.append(alpha * t**2 * sum(w[k] * soft_ce(answer(rows, k, x, t), s, t) for k in range(2)))
        ce.append((1 - alpha) * -math.log(softmax(s)[int(rows.labels[x])]))
    close(terms["distillation"], taught)
    close(terms["ce"], ce)


@pytest.mark.parametrize("name", ["lr_train_ensemble", "lr_dev_ensemble"])
def test_fitted_weights_are_the_best_there_are(name: str, rows: Rows) -> None:
    likelihood = np.array([[math.exp(-teacher_ce(rows, k, x)) for k in range(2)] for x in range(B)])
    best = minimize(lambda w: -np.log(likelihood @ [w[0], 1 - w[0]]).sum(), [0.5], bounds=[(0, 1)], tol=1e-12)
    _, seen = inputs(rows, name=name)
    assert float(seen.context.state["weights"][0]) == pytest.approx(float(best.x[0]), abs=1e-4)
    three = torch.tensor([[0.9, 0.1, 0.1], [0.8, 0.2, 0.1], [0.1, 0.9, 0.1]], dtype=torch.float64)
    assert fitted_weights(three).sum() == pytest.approx(1)
    assert fitted_weights(three)[2] == pytest.approx(0, abs=1e-6)


def test_lr_dev_looks_at_the_validation_texts_and_lr_train_does_not(rows: Rows) -> None:
    other = replace(rows, labels=(rows.labels + 1) % 3)
    for name, differs in (("lr_train_ensemble", False), ("lr_dev_ensemble", True)):
        method = create(name)
        before = method.fit(Pool(rows), context(rows))["weights"]
        after = method.fit(Pool(rows), context(other))["weights"]
        assert (not torch.allclose(before, after)) is differs


def test_one_teacher_is_drawn_for_the_whole_batch(rows: Rows) -> None:
    method, seen = inputs(rows, name="rand_single", alpha=1.0)
    wanted = [[soft_ce(answer(rows, k, x), seen.student.logits[x]) for x in range(B)] for k in range(2)]
    drawn = set()
    for _ in range(30):
        found = method.loss(seen)["distillation"]
        which = [
            k
            for k in range(2)
            if torch.allclose(found.double(), torch.tensor(wanted[k], dtype=torch.float64), atol=1e-5)
        ]
        assert len(which) == 1
        drawn |= set(which)
    assert drawn == {0, 1}
    measured = method.loss(replace(seen, training=False))
    close(measured["distillation"], [(a + b) / 2 for a, b in zip(*wanted, strict=True)])


def test_an_ensemble_by_itself_is_not_softened(rows: Rows) -> None:
    """It answers with Σ_k w_k p_k at T = 1, whatever its student learns; a draw, and what reads the label, answer nothing."""
    method, said = inputs(rows, name="w_ensemble", weights=[3, 1], temperature=20.0)
    answered = create(
        {"name": "routing", "of": {"name": "w_ensemble", "weights": [3, 1], "temperature": 20.0}}
    ).as_classifier()
    for answering in (method.as_classifier(), answered):
        target = answering.supervise(rows, said.context).targets
        for x in range(B):
            p = [answer(rows, k, x) for k in range(2)]
            close(target[x], [0.75 * a + 0.25 * b for a, b in zip(*p, strict=True)])
    assert create("rand_single").as_classifier() is None
    assert create("best_single").as_classifier() is None


def test_teachers_that_are_never_right_have_equal_weights(rows: Rows) -> None:
    said = [{int(np.argmax(answer(rows, k, x))) for k in range(2)} for x in range(B)]
    rows = replace(rows, labels=torch.tensor([min({0, 1, 2} - labels) for labels in said]))
    assert create({"name": "w_ensemble"}).fit(Pool(rows), context(rows))["weights"].tolist() == [0.5, 0.5]


def test_wrong_weights_are_refused(rows: Rows) -> None:
    for wrong in ([1.0], [1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(AlloyError, match="2 weights"):
            create({"name": "w_ensemble", "weights": wrong}).fit(Pool(rows), context(rows))


@pytest.mark.parametrize("weighted", [False, True])
def test_mt_berts_temperature_divides_and_does_not_multiply(weighted: bool, rows: Rows) -> None:
    """It softens the two answers that are compared, not the CE(y, y_i) in the weights."""
    method, seen = inputs(rows, name="mt_bert", hidden=False, weighted=weighted, task=False, temperature=3.0)
    wanted = [
        sum(
            soft_ce(answer(rows, k, x, 3.0), seen.student.logits[x], 3.0)
            / (1 + teacher_ce(rows, k, x) if weighted else 1)
            for k in range(2)
        )
        for x in range(B)
    ]
    terms = method.loss(seen)
    assert set(terms) == {"distillation"}
    close(terms["distillation"], wanted)


def test_liu_et_al(rows: Rows) -> None:
    method, seen = inputs(rows, name="adaptive_ensemble", temperature=2.0)
    terms = method.loss(seen)
    theta, v = (seen.modules[m].weight.detach().double() for m in ("factors", "vote"))
    taught, learnt = [], []
    for x in range(B):
        real_ones = seen.student.attention_mask[x].bool()
        f = seen.student.hidden_states[-1][x][real_ones].double().mean(0)
        w = softmax([float((v[0] * torch.tanh(theta[k] * f)).sum()) for k in range(2)])
        s = seen.student.logits[x]
        taught.append(4 * sum(w[k] * soft_ce(answer(rows, k, x, 2.0), s, 2.0) for k in range(2)))
        learnt.append(-math.log(sum(w[k] * math.exp(-teacher_ce(rows, k, x)) for k in range(2))))
    close(terms["distillation"].detach(), taught)
    close(terms["weights"].detach(), learnt)
    assert terms["weights"].requires_grad
    assert not terms["distillation"].requires_grad, "the weights do not follow the student"


TAUGHT = {"kl", "distillation", "answers", "weights"}  # the terms of the teachers' answers
BY_ONE = ("kd", "distilbert", "pkd", "tinybert")


@pytest.mark.parametrize(
    "name",
    [*BY_ONE, "u_ensemble", "best_single", "rand_single", "dissimilarity_ensemble", "adaptive_ensemble", "mt_bert"],
)
def test_a_teacher_without_an_answer_does_not_teach_the_text(name: str, rows: Rows) -> None:
    """The second text is taught by the first teacher alone, the fourth only by its label, and the fifth not by a method that learns from the first teacher."""
    there = torch.ones(B, 2, dtype=torch.bool)
    there[1, 1], there[3], there[4, 0] = False, False, False
    method, whole = inputs(rows, phase="answers", name=name)
    partly = replace(whole, rows=unanswered(whole.rows, there))
    partly = replace(partly, supervision=supervised(method, partly.rows, partly.context, B))
    before, after = (
        {key: term.detach() for key, term in method.loss(replace(seen, training=False)).items() if key in TAUGHT}
        for seen in (whole, partly)
    )
    assert after
    untaught, rest = ([3, 4], [0, 1, 2]) if name in BY_ONE else ([3], [0, 2])
    for key, term in after.items():
        assert not term[untaught].any()
        assert before[key][untaught].all()
        torch.testing.assert_close(term[rest], before[key][rest])
    if name not in (*BY_ONE, "adaptive_ensemble"):
        first, student = answer(rows, 0, 1), whole.student.logits[1]
        entropy = -sum(p * math.log(p) for p in first) if "kl" in after else 0.0
        share = 1 / (1 + teacher_ce(rows, 0, 1)) if name == "mt_bert" else getattr(method.options, "alpha", 1.0)
        (term,) = after.values()
        assert float(term[1]) == pytest.approx(share * (soft_ce(first, student) - entropy), rel=1e-4)


def test_labels_are_asked_for() -> None:
    only = LabelsOnly(torch.zeros(2, dtype=torch.long))
    assert only.rows([0]).labels is not None
    for name in ("kd", "mt_bert", "rl_kd", "pkd", "distilbert", "best_single"):
        assert create(name).needs.labels
