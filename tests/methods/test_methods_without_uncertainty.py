"""Ensemble, vanilla KD, UHC, pseudo-labels, supervised, one teacher and routing against plain loops."""

import loops
import pytest
import torch

from alloykit.labels import LabelSpace
from alloykit.losses.kl import grouped_kl
from alloykit.methods.ensemble import ensemble_logits
from alloykit.methods.protocol import Context, LossInputs, Phase, StudentOutput
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows

SETS = {
    "disjoint": (("a", "b", "c"), ("d", "e"), ("f", "g", "h", "i")),
    "overlapping": (("a", "b", "c"), ("c", "d"), ("b", "c", "e", "f")),
    "alone": (("a", "b", "c"),),
}
B = 5
both = pytest.mark.parametrize("kind", ["disjoint", "overlapping"])
every = pytest.mark.parametrize("kind", list(SETS))


def case(kind, seed=0):
    """Rows of B texts, their context, and student logits (float64)."""
    g = torch.Generator().manual_seed(seed)
    space = LabelSpace.union(SETS[kind])
    teachers = tuple(TeacherRows(2 * torch.randn(B, len(labels), generator=g)) for labels in SETS[kind])
    labels = torch.randint(space.size, (B,), generator=g)
    logits = 2 * torch.randn(B, space.size, generator=g, dtype=torch.float64)
    return Rows(teachers, labels), Context(space), logits


def logits_of(rows, text):
    return [teacher.logits[text].tolist() for teacher in rows.teachers]


def loss_of(method, rows, context, logits):
    terms = method.loss(
        LossInputs(
            StudentOutput(logits), rows, method.supervise(rows, context), method.modules(context), context, Phase()
        )
    )
    return sum(terms.values())


def close(found, wanted):
    torch.testing.assert_close(
        found.double(), torch.tensor(wanted, dtype=torch.float64), rtol=2e-5, atol=2e-6, check_dtype=False
    )


@every
def test_ensemble_joins_the_logits_side_by_side_or_averages_shared_classes(kind):
    rows, context, _ = case(kind)
    wanted = [loops.ensemble(logits_of(rows, b), SETS[kind]) for b in range(B)]
    close(ensemble_logits(rows, context.space), wanted)
    supervision = create("ensemble").supervise(rows, context)
    close(supervision.targets, [loops.softmax(z) for z in wanted])
    assert supervision.weights.tolist() == [1.0] * B


def test_disjoint_ensemble_is_plain_concatenation():
    rows, context, _ = case("disjoint")
    wanted = torch.cat([teacher.logits for teacher in rows.teachers], dim=-1)
    assert torch.equal(ensemble_logits(rows, context.space), wanted)


@both
@pytest.mark.parametrize("t", [1.0, 2.0, 0.5])
def test_vanilla_kd(kind, t):
    rows, context, logits = case(kind)
    wanted = []
    for b in range(B):
        target = loops.softmax(loops.ensemble(logits_of(rows, b), SETS[kind]), t)
        wanted.append(t**2 * loops.kl(target, loops.softmax(logits[b].tolist(), t)))
    close(loss_of(create({"name": "vanilla_kd", "temperature": t}), rows, context, logits), wanted)


def uhc_by_hand(rows, kind, logits, t):
    names = loops.union(SETS[kind])
    losses = []
    for b in range(B):
        s, loss = logits[b].tolist(), 0.0
        for z, labels in zip(logits_of(rows, b), SETS[kind], strict=True):
            own = [s[names.index(label)] for label in labels]
            loss += t**2 * loops.kl(loops.softmax(z, t), loops.softmax(own, t))
        losses.append(loss)
    return losses


@every
@pytest.mark.parametrize("t", [1.0, 2.0])
def test_uhc(kind, t):
    rows, context, logits = case(kind)
    method = create({"name": "uhc", "temperature": t})
    assert method.supervise(rows, context) is None
    close(loss_of(method, rows, context, logits), uhc_by_hand(rows, kind, logits, t))


def test_uhc_ignores_a_constant_added_to_one_teachers_group_but_only_if_disjoint():
    for kind, invariant in (("disjoint", True), ("overlapping", False)):
        rows, context, logits = case(kind)
        shifted = logits.clone()
        shifted[:, context.space.index(1)] += 3.0
        before, after = (loss_of(create("uhc"), rows, context, s) for s in (logits, shifted))
        assert torch.allclose(before, after, atol=1e-6) is invariant


@pytest.mark.parametrize("t", [1.0, 2.0])
def test_uhc_is_the_within_teacher_term_with_all_weights_one(t):
    """Σ_i of [grouped loss of teacher i alone − its routing term], which is the second term of methods.md §0 at w ≡ 1."""
    rows, context, logits = case("disjoint")
    groups = context.space.components()
    total = torch.zeros(B, dtype=torch.float64)
    for i, teacher in enumerate(rows.teachers):
        target = context.space.scatter(i, teacher.probabilities(t)).double()
        mass = torch.softmax(logits, -1)[:, groups == i].sum(-1)
        total += grouped_kl(target, logits, groups, t) + mass.log()
    torch.testing.assert_close(
        loss_of(create({"name": "uhc", "temperature": t}), rows, context, logits), total, rtol=1e-5, atol=1e-5
    )


@both
@pytest.mark.parametrize("inner", ["ensemble", {"name": "muka", "passes": 0, "mode": "hard"}, "teacher"])
def test_pseudo_label_is_cross_entropy_with_the_inner_argmax(kind, inner):
    rows, context, logits = case(kind)
    method = create({"name": "pseudo_label", "of": inner})
    wanted, names = [], loops.union(SETS[kind])
    for b in range(B):
        zs = logits_of(rows, b)
        if inner == "ensemble":
            scores = loops.ensemble(zs, SETS[kind])
        else:
            sure = [loops.confidence(loops.softmax(z)) for z in zs]
            i = 0 if inner == "teacher" else sure.index(max(sure))
            scores = loops.pad(loops.softmax(zs[i]), SETS[kind][i], names)
        wanted.append(-torch.log_softmax(logits[b], -1)[scores.index(max(scores))].item())
    close(loss_of(method, rows, context, logits), wanted)
    assert set(method.supervise(rows, context).targets.unique().tolist()) == {0.0, 1.0}


@both
def test_supervised_is_cross_entropy_with_the_true_labels(kind):
    rows, context, logits = case(kind)
    method = create("supervised")
    wanted = [-torch.log_softmax(logits[b], -1)[rows.labels[b]].item() for b in range(B)]
    close(loss_of(method, rows, context, logits), wanted)
    supervision = method.supervise(Rows((), rows.labels), context)
    assert torch.equal(supervision.targets.argmax(-1), rows.labels)
    close(supervision.targets.sum(-1), [1.0] * B)


@both
@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_teacher_alone_gives_zero_to_what_it_does_not_know(kind, which):
    rows, context, _ = case(kind)
    names = loops.union(SETS[kind])
    wanted = [loops.pad(loops.softmax(logits_of(rows, b)[which]), SETS[kind][which], names) for b in range(B)]
    close(create({"name": "teacher", "which": which}).supervise(rows, context).targets, wanted)


@both
def test_routing_is_the_inner_supervision_unchanged(kind):
    rows, context, _ = case(kind)
    inner = {"name": "muka", "passes": 0, "mode": "soft"}
    routed = create({"name": "routing", "of": inner}).supervise(rows, context)
    plain = create(inner).supervise(rows, context)
    assert torch.equal(routed.targets, plain.targets)
    assert torch.equal(routed.teacher_weights, plain.teacher_weights)
