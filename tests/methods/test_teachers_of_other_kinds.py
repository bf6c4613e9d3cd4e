"""Teachers that give probabilities only, or no answer to some texts: the equations once more, as plain loops."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from alloykit.methods.alloy.by_ensemble import by_ensemble, ensemble_accuracy
from alloykit.methods.alloy.mixture import View, initial_responsibilities, initial_weights
from alloykit.methods.alloy.routing import teacher_weights
from alloykit.methods.inputs import Gives
from alloykit.methods.muka.logit_confidences import fit_logit_confidences, logit_scores
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.outputs import Rows
from alloykit.testing.rows import RowSource, random_rows, space_of, unanswered

SPACE = space_of("overlapping")
ONLY_PROBABILITIES = (Gives(logits=True), Gives(), Gives(logits=True))


def log_rows(b: int = 12) -> Rows:
    """Teacher 1 has log-probabilities in the place of logits."""
    rows = random_rows("overlapping", b)
    second = rows.teachers[1]
    teachers = (rows.teachers[0], replace(second, logits=torch.log_softmax(second.logits, -1)), rows.teachers[2])
    return replace(rows, teachers=teachers)


@pytest.mark.parametrize("score", ["energy", "max_logit"])
def test_the_energy_of_a_teacher_without_logits_is_its_largest_log_probability(score: str) -> None:
    rows = log_rows()
    found = logit_scores(rows, Context(SPACE, gives=ONLY_PROBABILITIES), score)  # type: ignore[arg-type]
    for i, teacher in enumerate(rows.teachers):
        for x, z in enumerate(teacher.logits.tolist()):
            wanted = max(z) if i == 1 or score == "max_logit" else math.log(sum(map(math.exp, z)))
            assert float(found[x, i]) == pytest.approx(wanted, rel=1e-6)
    zero = logit_scores(rows, Context(SPACE), "energy")[:, 1]
    assert float(zero.abs().max()) < 1e-6, "the log-sum-exp of log-probabilities says nothing"


def test_statistics_of_energies_leave_out_texts_without_an_answer() -> None:
    answered = torch.rand(12, 3, generator=torch.Generator().manual_seed(1)) > 0.4
    rows, context = unanswered(log_rows(), answered), Context(SPACE, gives=ONLY_PROBABILITIES)
    found = fit_logit_confidences(RowSource(rows), context, "energy")
    e = logit_scores(rows, context, "energy")
    for i in range(3):
        values = [float(e[x, i]) for x in range(12) if answered[x, i]]
        mean = sum(values) / len(values)
        assert float(found["logit_mean"][i]) == pytest.approx(mean)
        sd = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        assert float(found["logit_deviation"][i]) == pytest.approx(sd)


def test_eqs_3_and_7_where_answers_are_missing() -> None:
    g = torch.Generator().manual_seed(2)
    owners, n = SPACE.has_label(), 6
    energies = torch.randn(n, 3, generator=g).double()
    answers = torch.randn(n, SPACE.size, generator=g).double()
    answered = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 0]]).bool()
    weights = initial_weights(energies, answered)
    r = initial_responsibilities(View(torch.zeros(n, 1), answers, energies, answered), owners)
    gamma = teacher_weights(r, owners, answered)
    apart = []
    for x in range(n):
        told = [i for i in range(3) if answered[x, i]]
        mean = sum(float(energies[x, i]) for i in told) / len(told)
        apart += [float(energies[x, i]) - mean for i in told]
    middle = sum(apart) / len(apart)
    sd = math.sqrt(sum((a - middle) ** 2 for a in apart) / len(apart))
    for x in range(n):
        told = [i for i in range(3) if answered[x, i]]
        raw = {i: math.exp(float(energies[x, i]) / sd) for i in told}
        w = [raw.get(i, 0.0) / sum(raw.values()) for i in range(3)]
        assert weights[x].tolist() == pytest.approx(w)
        scores = [
            math.exp(float(answers[x, c])) * sum(w[i] for i in range(3) if owners[i, c]) for c in range(SPACE.size)
        ]
        assert r[x].tolist() == pytest.approx([s / sum(scores) for s in scores])
        for i in range(3):
            wanted = sum(
                float(r[x, c]) / sum(bool(owners[j, c]) for j in told)
                for c in range(SPACE.size)
                if owners[i, c] and i in told
            )
            assert float(gamma[x, i]) == pytest.approx(wanted)
    assert gamma.sum(-1).tolist() == pytest.approx([1.0] * n)


def test_the_ensemble_compares_log_probabilities_where_a_teacher_has_no_logits() -> None:
    """In Vanilla KD, and in Alloy without its mixture."""
    rows = random_rows("disjoint", 4)
    context = Context(space_of("disjoint"), gives=ONLY_PROBABILITIES)
    found = create("vanilla_kd").supervise(rows, context)
    assert found is not None
    wanted = torch.cat([t.probabilities() for t in rows.teachers], -1) / 3
    torch.testing.assert_close(found.targets, wanted)
    torch.testing.assert_close(by_ensemble(rows, context, None).targets, wanted)
    labelled = RowSource(replace(rows, labels=wanted.argmax(-1)))
    assert ensemble_accuracy(replace(context, labelled=labelled)) == 1


@pytest.mark.parametrize("t", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("kind", ["disjoint", "overlapping"])
def test_a_text_without_any_answer_has_a_finite_target_at_any_temperature(kind: str, t: float) -> None:
    rows = random_rows(kind, 4)
    answered = torch.ones(4, len(rows.teachers)).bool()
    answered[1] = False
    found = create({"name": "vanilla_kd", "temperature": t}).supervise(
        unanswered(rows, answered), Context(space_of(kind))
    )
    assert found is not None
    assert found.targets.sum(-1).tolist() == pytest.approx([1.0] * 4)


def test_every_answer_there_is_changes_nothing() -> None:
    rows, space = random_rows("overlapping"), SPACE
    for name in ("vanilla_kd", "uhc", "oracle", "u_ensemble"):
        method, full = create(name), unanswered(rows, torch.ones(12, 3).bool())
        before, after = method.supervise(rows, Context(space)), method.supervise(full, Context(space))
        if before is not None and after is not None:
            torch.testing.assert_close(after.targets, before.targets, rtol=1e-6, atol=1e-7)
