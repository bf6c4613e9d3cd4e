"""MUKA, every option, against plain loops over Eqs. 3–15 and the decisions marked as ours in methods.md."""

import loops
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, Phase, StudentOutput
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows
from alloykit.stats import calibration

SETS = {
    "disjoint": (("a", "b", "c"), ("d", "e"), ("f", "g", "h", "i")),
    "overlapping": (("a", "b", "c"), ("c", "d"), ("e", "f", "g", "h")),
    "alone": (("a", "b", "c"),),
}
B, K = 7, 5


class Pool:
    """All texts of some rows, in memory."""

    def __init__(self, rows):
        self.kept = rows

    def __len__(self):
        return len(self.kept.teachers[0].logits)

    def rows(self, indices):
        at = torch.as_tensor(list(indices))
        return Rows(tuple(TeacherRows(t.logits[at], t.probability_sum[at], t.passes[at]) for t in self.kept.teachers))


def draw(kind, seed=0, b=B):
    """Rows, student logits, and per text and teacher the (logits, list of sampled distributions) for the loops."""
    g = torch.Generator().manual_seed(seed)
    space, teachers = LabelSpace.union(SETS[kind]), []
    seen = [[] for _ in range(b)]
    for labels in SETS[kind]:
        logits = 2 * torch.randn(b, len(labels), generator=g)
        passes = torch.randint(2, K + 1, (b,), generator=g)  # not every text needs as many passes
        total = torch.zeros_like(logits)
        for text in range(b):
            noise = torch.randn(int(passes[text]), len(labels), generator=g)
            sampled = torch.softmax(logits[text] + noise, -1)
            total[text] = sampled.sum(0)
            seen[text].append((logits[text].tolist(), sampled.tolist()))
        teachers.append(TeacherRows(logits, total, passes))
    return Rows(tuple(teachers)), space, 2 * torch.randn(b, space.size, generator=g, dtype=torch.float64), seen


def by_hand(kind, seen, logits, calibrate=None, **o):
    """(targets, v, w, loss) of every text. `calibrate(i, c)` replaces teacher i's confidence."""
    sets, names = SETS[kind], loops.union(SETS[kind])
    group_of = loops.components(sets)
    t = o.get("distillation_temperature", 1.0)
    targets, vs, ws = [], [], []
    for text in seen:
        averaged = [[sum(p[c] for p in drawn) / len(drawn) for c in range(len(z))] for z, drawn in text]
        plain = [loops.softmax(z) for z, _ in text]
        c = [loops.confidence(p) for p in (averaged if o.get("passes", 16) else plain)]
        c = [calibrate(i, value) for i, value in enumerate(c)] if calibrate else c
        if o.get("mode", "soft") == "hard":
            w = [1.0 if i == c.index(max(c)) else 0.0 for i in range(len(c))]
        else:
            w = loops.softmax(c, o.get("temperature", 0.2))
        p = averaged if o.get("probabilities") == "averaged" else [loops.softmax(z, t) for z, _ in text]
        tops = [labels[dist.index(max(dist))] for labels, dist in zip(sets, p, strict=True)]
        v = loops.margin(c, tops) + o.get("weight_floor", 1e-6) if o.get("reweight", True) else 1.0
        targets.append(loops.weighted_sum(w, p, sets))
        vs.append(v)
        ws.append(w)
    if o.get("normalise") == "batch":
        mean = sum(vs) / len(vs)
        vs = [v / mean for v in vs]
    if o.get("normalise") == "group":  # the pool of these tests is the batch itself
        routed = [group_of[names[max(range(len(names)), key=lambda c: target[c])]] for target in targets]
        means = {g: sum(v for v, r in zip(vs, routed, strict=True) if r == g) / routed.count(g) for g in routed}
        vs = [v / means[g] for v, g in zip(vs, routed, strict=True)]
    groups, losses = [group_of[name] for name in names], []
    for target, v, s in zip(targets, vs, logits.tolist(), strict=True):
        if o.get("direction") == "reverse":
            smoothed = [(1 - o["smoothing"]) * value + o["smoothing"] / len(target) for value in target]
            losses.append(v * loops.kl(loops.softmax(s), smoothed))
        else:
            losses.append(v * loops.mixture_loss(target, s, groups, t))
    return targets, vs, ws, losses


def check(kind, seed=0, calibrate=None, **options):
    rows, space, logits, seen = draw(kind, seed)
    method = create({"name": "muka", **options})
    context = Context(space, method.fit(Pool(rows), Context(space)))
    supervision = method.supervise(rows, context)
    loss = sum(
        method.loss(
            LossInputs(StudentOutput(logits), rows, supervision, method.modules(context), context, Phase())
        ).values()
    )
    found = (supervision.targets, supervision.weights, supervision.teacher_weights, loss)
    for what, value, wanted in zip(
        ["targets", "v", "w", "loss"], found, by_hand(kind, seen, logits, calibrate, **options), strict=True
    ):
        wanted = torch.tensor(wanted, dtype=torch.float64)
        torch.testing.assert_close(
            value.double(), wanted, rtol=3e-5, atol=3e-6, msg=lambda m, what=what: f"{what}: {m}"
        )


@pytest.mark.parametrize("kind", list(SETS))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "hard"},
        {"passes": 0},
        {"passes": 0, "mode": "hard"},
        {"temperature": 1.0},
        {"probabilities": "averaged"},
        {"probabilities": "averaged", "mode": "hard"},
        {"reweight": False},
        {"weight_floor": 0.3},
        {"weight_floor": 0.0},
        {"normalise": "batch"},
        {"normalise": "group"},
        {"normalise": "group", "mode": "hard", "weight_floor": 0.1},
        {"normalise": "batch", "reweight": False},
        {"distillation_temperature": 2.0},
        {"distillation_temperature": 3.0, "mode": "hard"},
        {"direction": "reverse", "smoothing": 0.0},
        {"direction": "reverse", "smoothing": 0.01},
        {"direction": "reverse", "smoothing": 0.01, "mode": "hard"},
    ],
    ids=str,
)
def test_options(kind, options):
    check(kind, **options)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(
    st.sampled_from(list(SETS)),
    st.integers(0, 999),
    st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["soft", "hard"]),
            "passes": st.sampled_from([0, 16]),
            "temperature": st.sampled_from([0.01, 0.2, 10.0]),
            "reweight": st.booleans(),
            "normalise": st.sampled_from(["none", "batch", "group"]),
            "distillation_temperature": st.sampled_from([1.0, 2.0]),
        }
    ),
)
def test_options_together(kind, seed, options):
    check(kind, seed, **options)


@pytest.mark.parametrize("passes", [0, 16])
@pytest.mark.parametrize("mode", ["soft", "hard"])
@pytest.mark.parametrize("how", ["percentile", "mixture"])
def test_calibrated_confidence(how, mode, passes):
    """Fitted per teacher on the pool's confidences; the calibrations themselves have tests of their own."""
    rows, _, _, seen = draw("disjoint", 4)
    raw = [[], [], []]
    for text in seen:
        for i, (z, drawn) in enumerate(text):
            mean = [sum(p[c] for p in drawn) / len(drawn) for c in range(len(z))]
            raw[i].append(loops.confidence(mean if passes else loops.softmax(z)))
    fit, apply = getattr(calibration, f"fit_{how}"), getattr(calibration, f"{how}_confidence")
    curves = [fit(torch.tensor(values, dtype=torch.float64)) for values in raw]
    if how == "percentile":  # float32 sums move a confidence by 1e-7, which may cross one of the pool's own steps

        def calibrate(i, c):
            return apply(torch.tensor([c], dtype=torch.float64), curves[i]).item()

        method = create({"name": "muka", "confidence": how, "mode": mode, "passes": passes})
        space = LabelSpace.union(SETS["disjoint"])
        context = Context(space, method.fit(Pool(rows), Context(space)))
        found = method.confidences(rows, context)
        wanted = torch.tensor([[calibrate(i, c) for c in raw[i]] for i in range(3)], dtype=torch.float64).T
        torch.testing.assert_close(found, wanted, rtol=0, atol=2e-3)
    else:
        check(
            "disjoint",
            4,
            lambda i, c: apply(torch.tensor([c], dtype=torch.float64), curves[i]).item(),
            confidence=how,
            mode=mode,
            passes=passes,
        )


def test_the_loss_does_not_soften_the_teacher_weights():
    """A higher T changes what is learned within a teacher's labels; w and the routing term stay."""
    rows, space, _, _ = draw("disjoint")
    warm, cold = (create({"name": "muka", "distillation_temperature": t}) for t in (4.0, 1.0))
    context = Context(space)
    a, b = warm.supervise(rows, context), cold.supervise(rows, context)
    torch.testing.assert_close(a.teacher_weights, b.teacher_weights)
    torch.testing.assert_close(a.weights, b.weights)
    for i in range(3):
        mass = [s.targets[:, space.index(i)].sum(-1) for s in (a, b)]
        torch.testing.assert_close(mass[0], mass[1])
    assert not torch.allclose(a.targets, b.targets, atol=0.01)


def test_exact_ties_of_hard_mode_are_shared():
    z = torch.tensor([[2.0, 0.0]])
    rows = Rows((TeacherRows(z), TeacherRows(z.flip(-1)), TeacherRows(torch.tensor([[0.1, 0.0]]))))
    space = LabelSpace.union([["a", "b"], ["c", "d"], ["e", "f"]])
    supervision = create({"name": "muka", "mode": "hard", "passes": 0}).supervise(rows, Context(space))
    assert supervision.teacher_weights.tolist() == [[0.5, 0.5, 0.0]]
    assert supervision.weights.item() == pytest.approx(1e-6)


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_a_teacher_that_abstains_is_as_if_it_were_not_there(mode):
    """However sure it is. It contradicts no other: it lowers no margin either."""
    rows, space, _, _ = draw("disjoint")
    sure = TeacherRows(torch.tensor([[9.0, 0, 0, 0]]).expand(B, 4), abstains=torch.ones(B, dtype=torch.bool))
    method, fewer = create({"name": "muka", "mode": mode, "passes": 0}), LabelSpace.union(SETS["disjoint"][:2])
    found = method.supervise(Rows((*rows.teachers[:2], sure)), Context(space))
    alone = method.supervise(Rows(rows.teachers[:2]), Context(fewer))
    torch.testing.assert_close(found.targets[:, :5], alone.targets)
    torch.testing.assert_close(found.weights, alone.weights)
    torch.testing.assert_close(found.teacher_weights[:, :2], alone.teacher_weights)
    nobody = Rows(tuple(TeacherRows(t.logits, abstains=torch.ones(B, dtype=torch.bool)) for t in rows.teachers))
    assert method.supervise(nobody, Context(space)).targets.isfinite().all()
