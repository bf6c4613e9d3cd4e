"""StrataNet against plain float64 loops: blocks, confidences, amalgam, losses; and what its parts are for."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, ModelShape, Phase, StudentOutput
from alloykit.methods.registry import create
from alloykit.methods.stratanet.blocks import blocks, collapse, pooled_blocks
from alloykit.methods.stratanet.method import Amalgamation
from alloykit.outputs import Rows, TeacherRows
from alloykit.stats.mahalanobis import Gaussians
from alloykit.testing.rows import take

GROUPS, DEPTH, WIDTH = (("a", "b"), ("c", "d", "e")), 2, 8
SHAPES = (ModelShape(6, 3), ModelShape(10, 4))


class Pool:
    def __init__(self, rows: Rows) -> None:
        self.everything = rows

    def __len__(self) -> int:
        return len(self.everything.teachers[0].logits)

    def rows(self, at: Any) -> Rows:
        index = torch.tensor(list(at))
        teachers = tuple(
            TeacherRows(t.logits[index], pooled_states=tuple(s[index] for s in t.pooled_states or ()))
            for t in self.everything.teachers
        )
        return Rows(teachers, None if self.everything.labels is None else self.everything.labels[index])


def draw(n: int, seed: int, apart: float = 3.0) -> Rows:
    """A teacher's own texts form clusters in its states; to the other teacher they are noise somewhere else."""
    g = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 5
    centres = [
        torch.randn(5, s.hidden_size, generator=torch.Generator().manual_seed(50 + i)) for i, s in enumerate(SHAPES)
    ]
    teachers = []
    for i, (names, shape) in enumerate(zip(GROUPS, SHAPES, strict=True)):
        own = labels < 2 if i == 0 else labels >= 2
        away = torch.full((shape.hidden_size,), apart)
        pooled = []
        for _ in range(shape.layers):
            z = torch.randn(n, shape.hidden_size, generator=g)
            z = torch.where(own[:, None], z * 0.5 + 2 * centres[i][labels], z + away)
            pooled.append(z.half())
        teachers.append(TeacherRows(2 * torch.randn(n, len(names), generator=g), pooled_states=tuple(pooled)))
    return Rows(tuple(teachers), labels)


def context(**options: Any) -> tuple[Any, Context]:
    method = create({"name": "stratanet", **options})
    own = Pool(draw(200, 1))
    bare = Context(LabelSpace.union(GROUPS), student=ModelShape(WIDTH, DEPTH), teachers=SHAPES, generated=own)
    return method, replace(bare, state=dict(method.fit(own, bare)))


def test_blocks_are_contiguous_and_as_even_as_possible() -> None:
    assert blocks(12, 6) == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]
    assert blocks(3, 2) == [[1, 2], [3]]
    assert blocks(7, 3) == [[1, 2, 3], [4, 5], [6, 7]]
    assert blocks(2, 4) == [[1], [1], [2], [2]], "a shallow teacher's layers serve several blocks"
    assert blocks(4, 4) == [[1], [2], [3], [4]]


def test_a_blocks_state_is_the_mean_over_its_layers() -> None:
    rows = draw(6, 2)
    z = pooled_blocks(rows.teachers[0], 2)
    layers = rows.teachers[0].pooled_states
    assert layers is not None
    torch.testing.assert_close(z[:, 0], (layers[0].float() + layers[1].float()) / 2)
    torch.testing.assert_close(z[:, 1], layers[2].float())


@pytest.mark.parametrize("kind", ["rmd", "md"])
def test_confidence_from_loops(kind: str) -> None:
    method, known = context(confidence=kind)
    rows = draw(9, 3)
    c = method.confidences(rows, known)
    assert c.shape == (9, 2, DEPTH)
    for i in range(2):
        for b in range(DEPTH):
            g = Gaussians.of(known.state, f"{i}.{b}", torch.device("cpu"))
            slope, intercept = known.state[f"{i}.{b}.curve"].tolist()
            precision = torch.linalg.inv(g.factor @ g.factor.T)
            around = torch.linalg.inv(g.background @ g.background.T)
            for x in range(9):
                z = pooled_blocks(rows.teachers[i], DEPTH)[x, b].double()
                score = min(float((z - m) @ precision @ (z - m)) for m in g.means)
                if kind == "rmd":
                    score -= float((z - g.mean) @ around @ (z - g.mean))
                wanted = 1 / (1 + math.exp(-(slope * score + intercept)))
                assert float(c[x, i, b]) == pytest.approx(min(max(wanted, 1e-4), 1 - 1e-4), abs=1e-5)


@pytest.mark.parametrize("groups", [GROUPS, (("a", "b"), ("b", "d", "e"))], ids=["disjoint", "a label shared"])
def test_what_is_fitted_and_what_is_told_apart(groups: Any) -> None:
    """Gaussians on one half of a teacher's texts, drawn at random, their background with as many of the others'; the curve on the other half, less
    shared labels, and as many further ones of the others'."""
    space = LabelSpace.union(groups)
    drawn = draw(200, 1)
    rows = replace(drawn, labels=drawn.labels % space.size)
    bare = Context(space, student=ModelShape(WIDTH, DEPTH), teachers=SHAPES, generated=Pool(rows))
    state = create("stratanet").fit(Pool(rows), bare)
    for i, names in enumerate(groups):
        mine = [space.names.index(name) for name in names]
        shared = [c for c in mine if all(space.names[c] in g for g in groups)]
        y = rows.labels.tolist()
        own, others = [x for x in range(200) if y[x] in mine], [x for x in range(200) if y[x] not in mine]
        own = [own[k] for k in torch.randperm(len(own), generator=torch.Generator().manual_seed(0))]
        others = [others[k] for k in torch.randperm(len(others), generator=torch.Generator().manual_seed(0))]
        fitted, held = own[: len(own) // 2], [x for x in own[len(own) // 2 :] if y[x] not in shared]
        ground = others[: min(len(fitted), len(others) // 2)]
        away = others[len(ground) :][: len(held)]
        z = pooled_blocks(rows.teachers[i], DEPTH)[:, 1].double().numpy()
        means = [np.mean([z[x] for x in fitted if y[x] == c], 0) for c in sorted(mine)]
        np.testing.assert_allclose(state[f"{i}.1.means"].numpy(), means, atol=1e-9)
        np.testing.assert_allclose(state[f"{i}.1.mean"].numpy(), z[fitted + ground].mean(0), atol=1e-9)
        g = Gaussians.of(state, f"{i}.1", torch.device("cpu"))
        scores = g.relative(torch.tensor(z[held + away])).numpy()
        unit = (scores - scores.mean()) / scores.std(ddof=1)
        model = LogisticRegression(C=100.0, class_weight="balanced", max_iter=1000).fit(
            unit[:, None], [1] * len(held) + [0] * len(away)
        )
        slope = float(model.coef_[0, 0]) / scores.std(ddof=1)
        assert state[f"{i}.1.curve"].tolist() == pytest.approx(
            [slope, float(model.intercept_[0]) - slope * scores.mean()], rel=1e-3
        )


def test_no_more_texts_are_read_for_the_fit_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labelled texts of a recipe may be many. The states of all blocks of those that are read are in memory at once."""
    monkeypatch.setattr("alloykit.methods.stratanet.blocks.FITTED_TO", 120)
    own, read = Pool(draw(200, 1)), []
    monkeypatch.setattr(own, "rows", lambda at: read.extend(map(int, at)) or Pool.rows(own, at))
    create("stratanet").fit(own, Context(LabelSpace.union(GROUPS), student=ModelShape(WIDTH, DEPTH), teachers=SHAPES, generated=own))  # fmt: skip
    assert len(set(read)) == len(read) == 120


def test_a_background_of_the_own_classes_only() -> None:
    space, drawn = LabelSpace.union(GROUPS), draw(200, 1)
    rows = replace(drawn, labels=drawn.labels % space.size)
    bare = Context(space, student=ModelShape(WIDTH, DEPTH), teachers=SHAPES, generated=Pool(rows))
    mixed, own = (create("stratanet" if b == "mixed" else {"name": "stratanet", "background": b}).fit(Pool(rows), bare) for b in ("mixed", "own"))  # fmt: skip
    assert torch.equal(own["0.1.means"], mixed["0.1.means"])
    assert torch.allclose(own["0.1.mean"], own["0.1.means"].mean(0), atol=0.5), "the middle of its classes"
    assert not torch.allclose(own["0.1.mean"], mixed["0.1.mean"], atol=0.5)
    assert not torch.allclose(own["0.1.background"], mixed["0.1.background"])


def test_a_teacher_all_of_whose_labels_are_shared_has_a_curve_too() -> None:
    """Nothing of its own would be left without them."""
    groups = (("a", "b"), ("b", "c"), ("c", "d", "e"))
    drawn = draw(200, 1)
    rows = replace(drawn, teachers=(*drawn.teachers, drawn.teachers[1]))
    bare = Context(
        LabelSpace.union(groups), student=ModelShape(WIDTH, DEPTH), teachers=(*SHAPES, SHAPES[1]), generated=Pool(rows)
    )
    state = create("stratanet").fit(Pool(rows), bare)
    assert all(bool(state[f"{i}.{b}.curve"].isfinite().all()) for i in range(3) for b in range(DEPTH))


def test_texts_far_from_everything_leave_the_losses_finite() -> None:
    """No teacher knows them: every c underflows, and is clipped."""
    method, known = context()
    far = draw(5, 7)
    far = replace(
        far,
        teachers=tuple(replace(t, pooled_states=tuple(40 * s for s in t.pooled_states or ())) for t in far.teachers),
    )
    assert bool((method.confidences(far, known) >= 1e-4).all())
    terms = method.loss(inputs(method, known, far))
    assert all(bool(term.isfinite().all()) for term in terms.values())


def test_whose_a_text_is_is_told_before_the_clip() -> None:
    """Where all c are clipped the target is even, and the nearest teacher still the owner."""
    method, known = context()
    far, scale = draw(40, 7), torch.where(torch.arange(40) % 2 == 0, 40, 400).half()[:, None]
    scales = (scale, torch.full_like(scale, 40))  # every second text is farther from the first teacher
    teachers = [
        replace(t, pooled_states=tuple(k * s for s in t.pooled_states or ()))
        for t, k in zip(far.teachers, scales, strict=True)
    ]
    far = replace(far, teachers=tuple(teachers))
    odds = method.log_odds(far, known)[..., -1]
    both = (odds < -20).all(-1)
    assert set(odds.argmax(-1)[both].tolist()) == {0, 1}
    found = method.supervise(far, known)
    assert found.teacher_weights is not None
    assert torch.equal(found.teacher_weights.argmax(-1)[both], odds.argmax(-1)[both])
    mass = found.targets[both, :2].sum(-1)
    torch.testing.assert_close(mass, torch.full_like(mass, 0.5))


def test_the_largest_confidence_finds_the_owner_where_msp_does_not_and_widths_do_not_matter() -> None:
    rows, found = draw(300, 4), {}
    owner = (rows.labels >= 2).long()
    # Teachers that answer their own texts more surely than others', but the first is surer of everything.
    sure = [
        t.logits * torch.where(owner == i, 1.5, 1.0)[:, None] * (4 if i == 0 else 1)
        for i, t in enumerate(rows.teachers)
    ]
    rows = replace(rows, teachers=tuple(replace(t, logits=z) for t, z in zip(rows.teachers, sure, strict=True)))
    for kind in ("rmd", "msp"):
        method, known = context(confidence=kind)
        said = method.supervise(rows, known).teacher_weights.argmax(-1)
        found[kind] = float(torch.stack([(said == i)[owner == i].double().mean() for i in range(2)]).mean())
    assert found["rmd"] > 0.95
    assert 0.5 < found["msp"] < 0.8


def test_how_sure_a_teacher_is_is_told_apart_also_where_it_is_nearly_certain() -> None:
    """msp: log p / (1 − p) of the largest probability, the same in every block."""
    method, known = context(confidence="msp")
    rows = draw(6, 5)
    rows = replace(rows, teachers=tuple(replace(t, logits=3 * t.logits.double()) for t in rows.teachers))
    found = method.log_odds(rows, known)
    assert found.shape == (6, 2, DEPTH)
    for x in range(6):
        for i, teacher in enumerate(rows.teachers):
            p = max(torch.softmax(teacher.logits[x], -1).tolist())
            assert found[x, i].tolist() == pytest.approx([math.log(p / (1 - p))] * DEPTH, rel=1e-3)


def test_doubling_a_teachers_width_does_not_change_who_is_found() -> None:
    def doubled(rows: Rows) -> Rows:
        second = rows.teachers[1]
        wide = tuple(
            torch.cat([s, s + 0.01 * torch.randn(s.shape, generator=torch.Generator().manual_seed(8)).half()], -1)
            for s in second.pooled_states or ()
        )
        return replace(rows, teachers=(rows.teachers[0], replace(second, pooled_states=wide)))

    rows, owner = draw(300, 4), (draw(300, 4).labels >= 2).long()
    method, known = context()
    before = method.confidences(rows, known)[..., -1].argmax(-1)
    own = Pool(doubled(draw(200, 1)))
    bare = replace(known, teachers=(SHAPES[0], ModelShape(20, 4)), generated=own, state={})
    after = method.confidences(doubled(rows), replace(bare, state=dict(method.fit(own, bare))))[..., -1].argmax(-1)
    assert float((before == after).double().mean()) > 0.97
    assert float((after == owner).double().mean()) > 0.95


def test_the_target() -> None:
    method, known = context(sharpness=0.5)
    rows = draw(7, 5)
    c = method.confidences(rows, known)[..., -1]
    found = method.supervise(rows, known)
    for x in range(7):
        logit = [
            math.log(min(max(float(v), 1e-4), 1 - 1e-4) / (1 - min(max(float(v), 1e-4), 1 - 1e-4))) / 0.5 for v in c[x]
        ]
        top = max(logit)
        e = [math.exp(v - top) for v in logit]
        weights = [v / sum(e) for v in e]
        odds = method.log_odds(rows, known)[x, :, -1] / 0.5
        whole = torch.softmax(odds, -1).tolist()
        target = []
        for i in range(2):
            p = torch.softmax(rows.teachers[i].logits[x].double() / 0.75, -1)
            target += [weights[i] * float(q) for q in p]
        assert found.targets[x].tolist() == pytest.approx(target, abs=1e-5)
        assert found.teacher_weights[x].tolist() == pytest.approx(whole, abs=1e-5)


def inputs(method: Any, known: Context, rows: Rows) -> LossInputs:
    g = torch.Generator().manual_seed(6)
    n = len(rows.teachers[0].logits)
    mask = torch.ones(n, 4, dtype=torch.long)
    mask[0, 2:] = 0
    hidden = tuple(torch.randn(n, 4, WIDTH, generator=g) for _ in range(DEPTH + 1))
    student = StudentOutput(torch.randn(n, 5, generator=g), mask, hidden)
    torch.manual_seed(0)
    return LossInputs(student, rows, method.supervise(rows, known), method.modules(known), known, Phase())


@pytest.mark.parametrize("amalgam", ["st", "mul", "linear"])
def test_losses_from_loops(amalgam: str) -> None:
    """Eqs. 5–8; the Transformer layer itself is torch's."""
    method, known = context(amalgam=amalgam, intermediate=0.6, auxiliary=2.0)
    rows = draw(5, 7)
    seen = inputs(method, known, rows)
    terms = method.loss(seen)
    c, parts = method.confidences(rows, known), seen.modules["blocks"]
    inter, out, learns = [], [], []
    for x in range(5):
        far, own_losses = 0.0, 0.0
        for b, part in enumerate(parts):
            h = [pooled_blocks(t, DEPTH)[x, b] for t in rows.teachers]
            e = [w(v) for w, v in zip(part.enrich, h, strict=True)]
            if amalgam == "st":
                e = [v + part.sureness(c[x, i, b].view(1)) for i, v in enumerate(e)]
            else:
                e = [c[x, i, b] * v for i, v in enumerate(e)]
            a = sum(e) if amalgam == "linear" else part.layer(torch.stack([part.token, *e])[None])[0, 0]
            real = [t for t in range(4) if seen.student.attention_mask[x, t]]
            s = part.project(sum(seen.student.hidden_states[b + 1][x, t] for t in real) / len(real))
            far += float(((a / a.norm() - s / s.norm()).detach() ** 2).sum()) / DEPTH
            shares = c[x, :, b] / c[x, :, b].sum()
            rebuilt = sum(float(shares[i]) * float(((d(a) - h[i]) ** 2).mean()) for i, d in enumerate(part.rebuild))
            q = torch.softmax(part.head(a), -1)
            target = seen.supervision.targets[x]
            own_losses += (
                rebuilt + sum(float(t * (t / p).log()) for t, p in zip(target, q, strict=True) if t > 0)
            ) / DEPTH
        inter.append(0.6 * far)
        learns.append(2.0 * own_losses)
        target, s = seen.supervision.targets[x].double(), seen.student.logits[x].double()
        q = torch.softmax(s, -1)
        total = 0.0
        for group in (slice(0, 2), slice(2, 5)):
            w, mass = float(target[group].sum()), float(q[group].sum())
            total += w * math.log(w / mass)
            within = torch.softmax(s[group] / 0.75, -1)
            p = target[group] / w
            total += 0.75**2 * w * float((p * (p / within).log()).sum())
        out.append(0.4 * total)
    for name, wanted in (("inter", inter), ("out", out), ("amalgam", learns)):
        torch.testing.assert_close(
            terms[name].detach().double(), torch.tensor(wanted, dtype=torch.float64), rtol=1e-4, atol=1e-5
        )


def test_the_amalgam_does_not_follow_the_student() -> None:
    method, known = context()
    seen = inputs(method, known, draw(5, 7))
    method.loss(seen)["inter"].sum().backward()
    part = seen.modules["blocks"][0]
    assert all(p.grad is None for name, p in part.named_parameters() if not name.startswith("project"))
    assert part.project.weight.grad is not None


def test_collapse_is_seen() -> None:
    g = torch.Generator().manual_seed(0)
    cosine, rank = collapse(torch.randn(64, 8, generator=g))  # type: ignore[misc]
    assert abs(cosine) < 0.1
    assert rank > 7
    cosine, rank = collapse(torch.ones(64, 8) + 1e-3 * torch.randn(64, 1, generator=g))  # type: ignore[misc]
    assert cosine > 0.99
    assert rank < 1.5
    x = torch.randn(6, 3, generator=g).double().numpy()
    values = np.linalg.svd(x - x.mean(0), compute_uv=False)
    shares = values / values.sum()
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = [float(unit[a] @ unit[b]) for a in range(6) for b in range(6) if a != b]
    assert collapse(torch.tensor(x)) == pytest.approx(
        (np.mean(cosines), np.exp(-(shares * np.log(shares)).sum())), rel=1e-4
    )
    assert collapse(torch.ones(2, 8)) is None
    assert collapse(torch.ones(4, 8)) == pytest.approx((1, 1)), "states that are all the same"


def test_the_worst_block_is_logged() -> None:
    """If the step is one that is logged, and has at least three texts."""
    method, known = context()
    rows = draw(12, 5)
    modules, logged = method.modules(known), list[dict[str, float]]()
    for logs, n in ((False, 12), (True, 2), (True, 12)):
        step = SimpleNamespace(
            logs=logs, log=logged.append, modules=modules, rows=(rows, take(rows, [*range(n)])), context=known
        )
        with torch.no_grad():
            method.after_step(step)
    c, found = method.confidences(rows, known), []
    for b, part in enumerate(modules["blocks"]):
        found.append(collapse(part([pooled_blocks(t, DEPTH)[:, b] for t in rows.teachers], c[..., b])))
    cosines, ranks = zip(*(f for f in found if f is not None), strict=True)
    assert len(set(cosines)) == len(set(ranks)) == DEPTH
    assert logged == [{"amalgam_cosine": pytest.approx(max(cosines)), "amalgam_rank": pytest.approx(min(ranks))}]


def test_too_few_texts_of_other_labels_are_refused() -> None:
    rows = draw(200, 1)
    rows = replace(rows, labels=torch.where(torch.arange(200) < 15, 2, rows.labels % 2))
    bare = Context(LabelSpace.union(GROUPS), student=ModelShape(WIDTH, DEPTH), teachers=SHAPES, generated=Pool(rows))
    with pytest.raises(AlloyError, match=r"teacher 1's labels .*got 185 and 15\."):
        create("stratanet").fit(Pool(rows), bare)


def test_too_few_own_texts_are_refused() -> None:
    method = create("stratanet")
    own = Pool(draw(20, 1))
    bare = Context(LabelSpace.union(GROUPS), student=ModelShape(WIDTH, DEPTH), teachers=SHAPES, generated=own)
    with pytest.raises(AlloyError, match=r"at least 16 texts of teacher 1's labels \(a, b\).*per_class"):
        method.fit(own, bare)


def test_widths_that_no_head_divides_get_fewer_heads() -> None:
    part = Amalgamation([4], 6, 4, "st", 3)
    layer: nn.TransformerEncoderLayer = part.layer
    assert layer.self_attn.num_heads == 3
    assert layer.linear1.out_features == 12, "twice as wide as the student"
