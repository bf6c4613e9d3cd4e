"""Alloy's loss (docs/methods/alloy.md, Eqs. 22 to 24), against a plain float64 loop."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from random_rows import made

from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.alloy.background_choice import ChosenMixture
from alloykit.methods.alloy.routing import routing_margin
from alloykit.methods.own_labels import own_labels_kl
from alloykit.methods.requirements import supervised
from alloykit.testing.rows import losses, student_logits, unanswered

USED: dict[str, Any] = {"name": "alloy", "texts_per_label": 1, "min_texts": 1}
ENERGY = {"name": "alloy"}  # too few texts: by the largest energy


def kl(p: list[float], logits: list[float]) -> float:
    total = math.log(sum(math.exp(s) for s in logits))
    return sum(a * (math.log(a) - (s - total)) for a, s in zip(p, logits, strict=True) if a > 0)


@pytest.mark.parametrize("spec", [USED, USED | {"own_labels": 2.0}, ENERGY], ids=["used", "more", "energy"])
@pytest.mark.parametrize("kind", ["disjoint", "overlapping"])
def test_the_loss(spec: dict[str, Any], kind: str) -> None:
    method, rows, context = made(spec, kind)
    answered = torch.arange(12)[:, None] % 5 != torch.arange(3)[None]
    rows, logits = unanswered(rows, answered), student_logits(rows, context)
    together = supervised(method, rows, context, len(logits))
    found = losses(method, rows, context, logits)
    assert set(found) == {"kl", "own_labels"}
    for x in range(12):
        target, student = together.targets[x].double().tolist(), logits[x].double().tolist()
        assert float(found["kl"][x]) == pytest.approx(float(together.weights[x]) * kl(target, student), abs=1e-5)
        own = 0.0
        for i, teacher in enumerate(rows.teachers):
            if bool(answered[x, i]):
                known = [c for c, has in enumerate(context.space.has_label()[i].tolist()) if has]
                p = torch.softmax(teacher.logits[x].double(), -1).tolist()
                own += kl(p, [student[c] for c in known])
        u = 1.0 if together.counts is None else float(together.counts[x])  # 1 − ¾ b: see the next test
        assert float(found["own_labels"][x]) == pytest.approx(method.options.own_labels * u * own, rel=1e-5, abs=1e-5)


def test_texts_of_the_background_count_less_in_both_terms() -> None:
    """u = 1 − ¾ b, from b of the fitted mixture."""
    method, rows, context = made(USED | {"background": True}, "disjoint", 60)
    logits = student_logits(rows, context)
    whole = own_labels_kl(rows, context.space, logits)
    by_energy = losses(method, rows, context, logits)["own_labels"]  # the mixture of random states is not used
    torch.testing.assert_close(by_energy, 0.5 * whole)
    context = replace(context, state=context.state | {"outcome": torch.tensor(ACCEPTED)})
    chosen, owners = ChosenMixture.of(context.state, logits.device), context.space.has_label()
    assert chosen.has_background
    view = method._seen(rows, context)
    b = chosen.mixture.background_share(view, owners).tolist()
    assert max(b) > 0.6
    assert min(b) < 0.4
    found = losses(method, rows, context, logits)
    together = supervised(method, rows, context, len(logits))
    r = torch.softmax(context.state["inverse_temperature"] * chosen.scores(view, owners), -1)
    for x, margin in enumerate(routing_margin(r, owners).tolist()):
        u = 1 - 0.75 * b[x]
        assert float(found["own_labels"][x]) == pytest.approx(0.5 * u * float(whole[x]), rel=1e-5)
        assert float(together.weights[x]) == pytest.approx(u * margin + 1e-6, rel=1e-4, abs=1e-9)


def test_without_own_labels_only_the_target_teaches() -> None:
    method, rows, context = made(USED | {"own_labels": 0}, "disjoint")
    logits = student_logits(rows, context)
    assert set(losses(method, rows, context, logits)) == {"kl"}


def test_own_labels_do_not_say_which_teacher_is_right() -> None:
    """With disjoint label sets, a constant added to all logits of one teacher's labels changes only the target's term."""
    method, rows, context = made(USED, "disjoint")
    logits = student_logits(rows, context)
    moved = logits + 3 * context.space.has_label()[0].float()
    before, after = losses(method, rows, context, logits), losses(method, rows, context, moved)
    torch.testing.assert_close(before["own_labels"], after["own_labels"], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(before["kl"], after["kl"], atol=1e-2)
