"""Distillation with labels, against plain float64 loops: L_KD and its ensembles, DistilBERT, PKD, TinyBERT, MT-BERT, You, Liu."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.base import Context, Lesson, Phase, Shape, StudentOutput
from alloykit.methods.ensembles import fitted_weights
from alloykit.methods.registry import create
from alloykit.rows import LabelsOnly, Rows, TeacherRows

LABELS, B, L, H, DEPTH = ("a", "b", "c"), 5, 4, 2, 2
WIDTHS, DEPTHS = (8, 6), (4, 3)
OWN = 8


class Pool:
    def __init__(self, rows: Rows) -> None:
        self.everything = rows

    def __len__(self) -> int:
        return B

    def rows(self, indices: Any) -> Rows:
        assert list(indices) == list(range(B))
        return self.everything


@pytest.fixture
def rows() -> Rows:
    g = torch.Generator().manual_seed(0)
    teachers = []
    for width in WIDTHS:
        mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]).bool()
        states = tuple(torch.randn(B, L, width, generator=g) for _ in range(DEPTH + 1))
        scores = tuple(torch.randn(B, H, L, L, generator=g) for _ in range(DEPTH))
        teachers.append(
            TeacherRows(2 * torch.randn(B, 3, generator=g), pooled_states=(torch.randn(B, width, generator=g).half(),),
                        token_states=states, token_mask=mask, attention_scores=scores)
        )  # fmt: skip
    return Rows(tuple(teachers), torch.tensor([0, 1, 2, 1, 0]))


def context(rows: Rows) -> Context:
    space = LabelSpace.union([LABELS, LABELS])
    shapes = tuple(Shape(w, d) for w, d in zip(WIDTHS, DEPTHS, strict=True))
    return Context(space, student=Shape(OWN, DEPTH), teachers=shapes, validation=Pool(rows))


def student() -> StudentOutput:
    g = torch.Generator().manual_seed(1)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    hidden = tuple(torch.randn(B, L, OWN, generator=g) for _ in range(DEPTH + 1))
    scores = tuple(torch.randn(B, H, L, L, generator=g) for _ in range(DEPTH))
    return StudentOutput(torch.randn(B, 3, generator=g), mask, hidden, scores)


def lesson(rows: Rows, phase: str = "train", **spec: Any) -> tuple[Any, Lesson]:
    method = create(spec)
    bare = context(rows)
    asked = [len(layers) for layers in method.teacher_layers(bare)]
    teachers = tuple(
        replace(t, token_states=t.token_states[:n] if t.token_states else None)
        for t, n in zip(rows.teachers, asked, strict=True)
    )
    rows = replace(rows, teachers=teachers)
    whole = replace(bare, state=dict(method.fit(Pool(rows), bare)))
    torch.manual_seed(3)
    modules = method.modules(whole)
    return method, Lesson(student(), rows, method.supervise(rows, whole), modules, whole, Phase(phase))


def softmax(z: Any, t: float = 1.0) -> list[float]:
    z = [float(x) / t for x in z]
    top = max(z)
    e = [math.exp(x - top) for x in z]
    return [x / sum(e) for x in e]


def soft_ce(target: list[float], logits: Any, t: float = 1.0) -> float:
    return -sum(p * math.log(q) for p, q in zip(target, softmax(logits, t), strict=True))


def teacher_ce(rows: Rows, k: int, x: int) -> float:
    return -math.log(softmax(rows.teachers[k].logits[x])[int(rows.labels[x])])


def close(found: torch.Tensor, wanted: list[float]) -> None:
    torch.testing.assert_close(found.double(), torch.tensor(wanted, dtype=torch.float64), rtol=1e-5, atol=1e-6)


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
        right = [
            sum(int(np.argmax(rows.teachers[k].logits[n].numpy())) == int(rows.labels[n]) for n in range(B))
            for k in range(2)
        ]
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
    method, seen = lesson(rows, **spec, alpha=alpha, temperature=t)
    terms = method.loss(seen)
    taught, ce = [], []
    for x in range(B):
        w = expected_weights(spec, rows, x)
        s = seen.student.logits[x]
        taught.append(
            alpha * t**2 * sum(w[k] * soft_ce(softmax(rows.teachers[k].logits[x], t), s, t) for k in range(2))
        )
        ce.append((1 - alpha) * -math.log(softmax(s)[int(rows.labels[x])]))
    close(terms["distillation"], taught)
    close(terms["ce"], ce)


@pytest.mark.parametrize("name", ["lr_train_ensemble", "lr_dev_ensemble"])
def test_fitted_weights_are_the_best_there_are(name: str, rows: Rows) -> None:
    likelihood = np.array([[math.exp(-teacher_ce(rows, k, x)) for k in range(2)] for x in range(B)])
    best = minimize(lambda w: -np.log(likelihood @ [w[0], 1 - w[0]]).sum(), [0.5], bounds=[(0, 1)], tol=1e-12)
    _, seen = lesson(rows, name=name)
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
    method, seen = lesson(rows, name="rand_single", alpha=1.0)
    wanted = [[soft_ce(softmax(t.logits[x]), seen.student.logits[x]) for x in range(B)] for t in rows.teachers]
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
    with torch.no_grad():
        close(method.loss(seen)["distillation"], [(a + b) / 2 for a, b in zip(*wanted, strict=True)])


def test_wrong_weights_are_refused(rows: Rows) -> None:
    for wrong in ([1.0], [1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(AlloyError, match="2 weights"):
            create({"name": "w_ensemble", "weights": wrong}).fit(Pool(rows), context(rows))


def real(rows: Rows, k: int, x: int) -> list[int]:
    mask = rows.teachers[k].token_mask
    assert mask is not None
    return [t for t in range(L) if mask[x, t]]


def test_mt_bert(rows: Rows) -> None:
    """Eqs. 1–3."""
    method, seen = lesson(rows, name="mt_bert")
    assert method.teacher_layers(seen.context) == ((2, 4), (2, 3)), "⌈j L_i / K⌉"
    terms = method.loss(seen)
    hidden, taught = [], []
    for x in range(B):
        far = 0.0
        for k in range(2):
            for j in range(DEPTH):
                w = seen.modules["maps"][k][j].weight.detach().double()
                each = []
                for t in real(rows, k, x):
                    mapped = w @ rows.teachers[k].token_states[j][x, t].double()
                    own = seen.student.hidden_states[j + 1][x, t].double()
                    each.append(sum(float(a - b) ** 2 for a, b in zip(own, mapped, strict=True)) / OWN)
                far += sum(each) / len(each)
        hidden.append(far)
        s = seen.student.logits[x]
        taught.append(
            sum(soft_ce(softmax(t.logits[x]), s) / (1 + teacher_ce(rows, k, x)) for k, t in enumerate(rows.teachers))
        )
    close(terms["hidden"].detach(), hidden)
    close(terms["distillation"], taught)
    close(terms["ce"], [-math.log(softmax(seen.student.logits[x])[int(rows.labels[x])]) for x in range(B)])


def test_mt_berts_temperature_divides_and_does_not_multiply(rows: Rows) -> None:
    method, seen = lesson(rows, name="mt_bert", hidden=False, weighted=False, task=False, temperature=3.0)
    wanted = [
        sum(soft_ce(softmax(t.logits[x], 3.0), seen.student.logits[x], 3.0) for t in rows.teachers) for x in range(B)
    ]
    terms = method.loss(seen)
    assert set(terms) == {"distillation"}
    close(terms["distillation"], wanted)


@pytest.mark.parametrize("which", [0, 1])
def test_distilbert(which: int, rows: Rows) -> None:
    method, seen = lesson(rows, name="distilbert", which=which)
    assert method.teacher_layers(seen.context)[which] == (DEPTHS[which],)
    assert method.teacher_layers(seen.context)[1 - which] == ()
    assert ("map" in seen.modules) is (WIDTHS[which] != OWN)
    terms = method.loss(seen)
    teacher, t = rows.teachers[which], 2.0
    kd, cosine = [], []
    for x in range(B):
        p, s = softmax(teacher.logits[x], t), seen.student.logits[x]
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


def test_pkd(rows: Rows) -> None:
    method, seen = lesson(rows, name="pkd", alpha=0.3, temperature=5.0, beta=10.0)
    terms = method.loss(seen)
    patience = []
    for x in range(B):
        a, b = seen.student.hidden_states[1][x, 0].double(), rows.teachers[0].token_states[0][x, 0].double()
        a, b = a / a.norm(), b / b.norm()
        patience.append(10.0 * sum(float(u - v) ** 2 for u, v in zip(a, b, strict=True)))
    close(terms["patience"], patience)
    p = [softmax(rows.teachers[0].logits[x], 5.0) for x in range(B)]
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


def test_pkd_refuses_another_width(rows: Rows) -> None:
    method, seen = lesson(rows, name="pkd", which=1)
    with pytest.raises(AlloyError, match=r"as wide as the student \(8\).*got one of 6"):
        method.loss(seen)


def test_tinyberts_layers(rows: Rows) -> None:
    """Eqs. 8–10."""
    method, seen = lesson(rows, "layers", name="tinybert", which=1)
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
    method, seen = lesson(rows, "answers", name="tinybert", temperature=2.0)
    terms = method.loss(seen)
    assert set(terms) == {"answers"}
    close(
        terms["answers"],
        [4 * soft_ce(softmax(rows.teachers[0].logits[x], 2.0), seen.student.logits[x], 2.0) for x in range(B)],
    )
    assert [p.name for p in method.phases()] == ["layers", "answers"]


def test_padding_of_huge_scores_does_not_count(rows: Rows) -> None:
    method, seen = lesson(rows, "layers", name="tinybert", which=1)
    teacher = seen.rows.teachers[1]
    masked = tuple(
        s.masked_fill(~teacher.token_mask[:, None, None, :], torch.finfo(torch.float32).min)
        for s in teacher.attention_scores
    )
    loud = replace(seen.rows, teachers=(seen.rows.teachers[0], replace(teacher, attention_scores=masked)))
    assert torch.equal(method.loss(replace(seen, rows=loud))["attention"], method.loss(seen)["attention"])


def test_you_et_al(rows: Rows) -> None:
    method, seen = lesson(rows, name="dissimilarity_ensemble", margin=0.2, beta=3.0)
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


def test_liu_et_al(rows: Rows) -> None:
    method, seen = lesson(rows, name="adaptive_ensemble", temperature=2.0)
    terms = method.loss(seen)
    theta, v = (seen.modules[m].weight.detach().double() for m in ("factors", "vote"))
    taught, learnt = [], []
    for x in range(B):
        real_ones = seen.student.attention_mask[x].bool()
        f = seen.student.hidden_states[-1][x][real_ones].double().mean(0)
        w = softmax([float((v[0] * torch.tanh(theta[k] * f)).sum()) for k in range(2)])
        s = seen.student.logits[x]
        taught.append(4 * sum(w[k] * soft_ce(softmax(rows.teachers[k].logits[x], 2.0), s, 2.0) for k in range(2)))
        learnt.append(-math.log(sum(w[k] * math.exp(-teacher_ce(rows, k, x)) for k in range(2))))
    close(terms["distillation"].detach(), taught)
    close(terms["weights"].detach(), learnt)
    assert terms["weights"].requires_grad
    assert not terms["distillation"].requires_grad, "the weights do not follow the student"


def test_labels_are_asked_for() -> None:
    only = LabelsOnly(torch.zeros(2, dtype=torch.long))
    assert only.rows([0]).labels is not None
    for name in ("kd", "mt_bert", "rl_kd", "pkd", "distilbert", "best_single"):
        assert create(name).needs.labels
