"""Methods that compare states: MT-BERT, DistilBERT, PKD, TinyBERT, You et al., against plain float64 loops."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from one_task import (
    DEPTH,
    DEPTHS,
    OWN,
    WIDTHS,
    B,
    H,
    answer,
    close,
    inputs,
    real,
    soft_ce,
    softmax,
    teacher_ce,
)

from alloykit.errors import AlloyError
from alloykit.methods.registry import create
from alloykit.outputs import Rows
from alloykit.testing.rows import unanswered


@pytest.mark.parametrize(("t", "weighted"), [(1.0, True), (2.0, True), (1.0, False)])
def test_mt_bert(t: float, weighted: bool, rows: Rows) -> None:
    """Eqs. 1–3."""
    method, seen = inputs(rows, name="mt_bert", temperature=t, weighted=weighted)
    assert method.teacher_layers(seen.context) == ((2, 4), (2, 3)), "⌈j L_i / K⌉"
    for w in seen.modules["maps"].parameters():  # as after some training
        torch.nn.init.normal_(w)
    terms = method.loss(seen)
    hidden, taught = [], []
    for x in range(B):
        far = 0.0
        for k in range(2):
            for j in range(DEPTH):
                w = seen.modules["maps"][k][j].weight.detach().double()
                each = []
                for at in real(rows, k, x):
                    mapped = w @ rows.teachers[k].token_states[j][x, at].double()
                    own = seen.student.hidden_states[j + 1][x, at].double()
                    each.append(sum(float(a - b) ** 2 for a, b in zip(own, mapped, strict=True)) / OWN)
                far += sum(each) / len(each)
        hidden.append(far)
        s = seen.student.logits[x]
        omega = [1 / (1 + teacher_ce(rows, k, x)) if weighted else 1.0 for k in range(2)]
        taught.append(sum(omega[k] * soft_ce(answer(rows, k, x, t), s, t) for k in range(2)))
    close(terms["hidden"].detach(), hidden)
    close(terms["distillation"], taught)
    close(terms["ce"], [-math.log(softmax(seen.student.logits[x])[int(rows.labels[x])]) for x in range(B)])


def test_mt_berts_teachers_without_an_answer_do_not_teach(rows: Rows) -> None:
    """The second text has one answer, the fourth has none."""
    there = torch.ones(B, 2, dtype=torch.bool)
    there[1, 1], there[3] = False, False
    rows = unanswered(rows, there)
    method, seen = inputs(rows, name="mt_bert", hidden=False)
    found = method.loss(seen)["distillation"]
    alone = soft_ce(answer(rows, 0, 1), seen.student.logits[1]) / (1 + teacher_ce(rows, 0, 1))
    assert float(found[1]) == pytest.approx(alone, rel=1e-5)
    assert float(found[3]) == 0
    assert seen.supervision is not None
    assert bool(seen.supervision.targets.isfinite().all())
    assert seen.supervision.teacher_weights[1].tolist() == [1, 0]


@pytest.mark.parametrize("part", ["hidden", "distillation", "task"])
def test_parts_of_mt_berts_loss_can_be_left_out(part: str, rows: Rows) -> None:
    method, seen = inputs(rows, name="mt_bert", **{part: False})
    names = {"hidden": "hidden", "distillation": "distillation", "task": "ce"}
    assert set(method.loss(seen)) == set(names.values()) - {names[part]}
    assert method.needs.token_states is method.needs.student_hidden_states is (part != "hidden")


def test_the_size_of_mt_berts_mapped_states_is_logged(rows: Rows) -> None:
    """The mean over teachers and layers of the mean square of W H."""
    method, seen = inputs(rows, name="mt_bert")
    logged: list[dict[str, float]] = []
    with torch.no_grad():
        for logs in (False, True):
            method.after_step(SimpleNamespace(logs=logs, log=logged.append, modules=seen.modules, rows=(seen.rows,)))
    maps, sizes = seen.modules["maps"], []
    for k, teacher in enumerate(seen.rows.teachers):
        for j, states in enumerate(teacher.token_states):
            sizes.append(float(((states.double() @ maps[k][j].weight.detach().double().T) ** 2).mean()))
    assert logged == [{"mapped_size": pytest.approx(sum(sizes) / 4, rel=1e-5)}]


@pytest.mark.parametrize("which", [0, 1])
def test_distilbert(which: int, rows: Rows) -> None:
    method, seen = inputs(rows, name="distilbert", which=which)
    assert method.teacher_layers(seen.context)[which] == (DEPTHS[which],)
    assert method.teacher_layers(seen.context)[1 - which] == ()
    assert ("map" in seen.modules) is (WIDTHS[which] != OWN)
    terms = method.loss(seen)
    teacher, t = rows.teachers[which], 2.0
    kd, cosine = [], []
    for x in range(B):
        p, s = answer(rows, which, x, t), seen.student.logits[x]
        kd.append(5 * t**2 * (soft_ce(p, s, t) + sum(a * math.log(a) for a in p)))
        each = []
        for n in real(rows, which, x):
            a = seen.student.hidden_states[-1][x, n].double()
            b = teacher.token_states[0][x, n].double()
            if "map" in seen.modules:
                b = seen.modules["map"].weight.detach().double() @ b
            each.append(1 - float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)))
        cosine.append(sum(each) / len(each))
    close(terms["kl"], kd)
    close(terms["cosine"].detach(), cosine)
    close(terms["ce"], [2 * -math.log(softmax(seen.student.logits[x])[int(rows.labels[x])]) for x in range(B)])


def test_mt_berts_maps_begin_as_the_identity(rows: Rows) -> None:
    method, seen = inputs(rows, name="mt_bert")
    maps = method.modules(seen.context)["maps"]
    assert [[tuple(w.weight.shape) for w in teacher] for teacher in maps] == [[(8, 8)] * 2, [(8, 6)] * 2]
    for teacher in maps:
        for w in teacher:
            assert torch.equal(w.weight, torch.eye(*w.weight.shape))


def test_pkd(rows: Rows) -> None:
    method, seen = inputs(rows, name="pkd", alpha=0.3, temperature=5.0, beta=10.0)
    terms = method.loss(seen)
    patience = []
    for x in range(B):
        a, b = seen.student.hidden_states[1][x, 0].double(), rows.teachers[0].token_states[0][x, 0].double()
        a, b = a / a.norm(), b / b.norm()
        patience.append(10.0 * sum(float(u - v) ** 2 for u, v in zip(a, b, strict=True)) / len(a))
    close(terms["patience"], patience)
    p = [answer(rows, 0, x, 5.0) for x in range(B)]
    wanted = [
        0.3 * 25 * (soft_ce(p[x], seen.student.logits[x], 5.0) + sum(q * math.log(q) for q in p[x])) for x in range(B)
    ]
    close(terms["kl"], wanted)
    close(terms["ce"], [0.7 * -math.log(softmax(seen.student.logits[x])[int(rows.labels[x])]) for x in range(B)])


def test_pkds_layers_are_the_papers() -> None:
    skip, last = create("pkd"), create({"name": "pkd", "patience": "last"})
    assert skip.layers(6, 12) == (2, 4, 6, 8, 10)
    assert last.layers(6, 12) == (7, 8, 9, 10, 11)
    assert (skip.layers(3, 12), last.layers(3, 12)) == ((4, 8), (10, 11))
    assert skip.layers(1, 12) == last.layers(1, 12) == ()


def test_pkd_needs_cls_to_be_first(rows: Rows) -> None:
    method, seen = inputs(rows, name="pkd")
    assert seen.student.attention_mask is not None
    padded = replace(seen, student=replace(seen.student, attention_mask=seen.student.attention_mask.flip(-1)))
    with pytest.raises(AlloyError, match=r"\[CLS\] as the student's first token.*pads on the left"):
        method.loss(padded)


def test_pkd_refuses_another_width(rows: Rows) -> None:
    method, seen = inputs(rows, name="pkd", which=1)
    with pytest.raises(AlloyError, match=r"as wide as the student \(8\).*got one of 6"):
        method.loss(seen)


def test_tinyberts_first_stage_is_not_chosen_by_answers() -> None:
    """Nothing of it reaches the head, so that accuracy would choose at random."""
    assert [(p.name, p.select) for p in create("tinybert").phases()] == [("layers", "last"), ("answers", None)]


def test_tinyberts_layers(rows: Rows) -> None:
    """Eqs. 7–9."""
    method, seen = inputs(rows, "layers", name="tinybert", which=1)
    assert method.teacher_layers(seen.context) == ((), (0, 2, 3))
    terms = method.loss(seen)
    teacher, w = rows.teachers[1], seen.modules["map"].weight.detach().double()
    attention, hidden, embeddings = [], [], []
    for x in range(B):
        there = real(rows, 1, x)
        total = 0.0
        for a, b in zip(seen.student.attention_scores, teacher.attention_scores, strict=True):
            heads = [
                sum(float(a[x, h, i, j] - b[x, h, i, j]) ** 2 for i in there for j in there) / len(there) ** 2
                for h in range(H)
            ]
            total += sum(heads) / H
        attention.append(total)
        far = []
        for own, theirs in zip(seen.student.hidden_states, teacher.token_states, strict=True):
            each = [((w @ own[x, t].double() - theirs[x, t].double()) ** 2).mean().item() for t in there]
            far.append(sum(each) / len(each))
        embeddings.append(far[0])
        hidden.append(sum(far[1:]))
    close(terms["attention"], attention)
    close(terms["hidden"].detach(), hidden)
    close(terms["embeddings"].detach(), embeddings)


def test_tinyberts_second_stage_is_the_answers_alone(rows: Rows) -> None:
    method, seen = inputs(rows, "answers", name="tinybert", which=1, temperature=2.0)
    terms = method.loss(seen)
    assert set(terms) == {"answers"}
    close(
        terms["answers"],
        [4 * soft_ce(answer(rows, 1, x, 2.0), seen.student.logits[x], 2.0) for x in range(B)],
    )
    assert [p.name for p in method.phases()] == ["layers", "answers"]


def test_padding_of_huge_scores_does_not_count(rows: Rows) -> None:
    method, seen = inputs(rows, "layers", name="tinybert", which=1)
    teacher = seen.rows.teachers[1]
    masked = tuple(
        s.masked_fill(~teacher.token_mask[:, None, None, :], torch.finfo(torch.float32).min)
        for s in teacher.attention_scores
    )
    loud = replace(seen.rows, teachers=(seen.rows.teachers[0], replace(teacher, attention_scores=masked)))
    assert torch.equal(method.loss(replace(seen, rows=loud))["attention"], method.loss(seen)["attention"])


def test_you_et_al(rows: Rows) -> None:
    method, seen = inputs(rows, name="dissimilarity_ensemble", margin=0.2, beta=3.0)
    assert method.teacher_layers(seen.context) == ((2,), (2,)), "the middle one"
    found = float(method.loss(seen)["dissimilarity"])

    def unit(v: torch.Tensor) -> torch.Tensor:
        return v.double() / v.double().norm()

    def apart(states: list[torch.Tensor], a: int, b: int) -> float:
        return float(((unit(states[a]) - unit(states[b])) ** 2).sum())

    mask = seen.student.attention_mask
    middle = seen.student.hidden_states[1]
    own = [middle[x][mask[x].bool()].double().mean(0) for x in range(B)]
    theirs = [[t.pooled_states[0][x].double() for x in range(B)] for t in rows.teachers]
    each = []
    for a in range(B):
        for i in range(1, 5):
            for j in range(i + 1, 5):
                b, c = (a + i) % B, (a + j) % B
                votes = sum(apart(t, a, b) < apart(t, a, c) for t in theirs)
                if votes == 1:
                    continue  # a tie
                sign = 1 if votes == 2 else -1
                each.append(max(0.0, sign * (apart(own, a, b) - apart(own, a, c)) + 0.2))
    assert found == pytest.approx(3.0 * sum(each) / len(each), rel=1e-4)
