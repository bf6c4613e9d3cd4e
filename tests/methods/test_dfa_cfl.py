"""DFA and CFL against plain loops over lists of floats."""

from __future__ import annotations

from dataclasses import replace

import loops
import pytest
import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, ModelShape, Phase, StudentOutput
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows

B, L = 3, 4
SPACE = LabelSpace.union([("a", "b"), ("c", "d", "e")])
STUDENT, TEACHERS = ModelShape(8, 2), (ModelShape(6, 3), ModelShape(5, 1))
Lists = list[list[float]]


def inputs(name: str, **options: object) -> tuple[LossInputs, dict[str, Tensor]]:
    g = torch.Generator().manual_seed(3)
    method = create({"name": name, **options})
    context = Context(SPACE, student=STUDENT, teachers=TEACHERS)
    masks = [torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]]).bool(), torch.ones(B, L).bool()]
    masks[1][2, 1] = False
    layers = STUDENT.layers if name == "dfa" else 1
    teachers = tuple(
        TeacherRows(
            torch.randn(B, len(labels), generator=g).double(),
            pooled_states=(torch.randn(B, shape.hidden_size, generator=g).half(),),
            token_states=tuple(torch.randn(B, L, shape.hidden_size, generator=g).double() for _ in range(layers)),
            token_mask=mask,
        )
        for labels, shape, mask in zip(SPACE.teachers, TEACHERS, masks, strict=True)
    )
    hidden = tuple(torch.randn(B, L, STUDENT.hidden_size, generator=g).double() for _ in range(STUDENT.layers + 1))
    logits = torch.randn(B, SPACE.size, generator=g).double()
    torch.manual_seed(0)
    modules = method.modules(context).double()
    own = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
    rows = Rows(teachers)
    made = LossInputs(
        StudentOutput(logits, own, hidden), rows, method.supervise(rows, context), modules, context, Phase()
    )
    return made, method.loss(made)


def linear(module: torch.nn.Linear, x: list[float]) -> list[float]:
    w, b = module.weight.tolist(), module.bias.tolist()
    return [sum(a * c for a, c in zip(row, x, strict=True)) + bias for row, bias in zip(w, b, strict=True)]


def test_dfa() -> None:
    made, terms = inputs("dfa", feature_weight=0.7)
    blocks, rows = made.modules, made.rows
    for b in range(B):
        follow, rebuild = 0.0, 0.0
        for layer in range(2):
            real = [t for t in range(L) if all(bool(r.token_mask[b, t]) for r in rows.teachers)]
            f, r = 0.0, [0.0, 0.0]
            for t in real:
                together = [v for r_ in rows.teachers for v in r_.token_states[layer][b, t].tolist()]
                merged = linear(blocks["merge"][layer], together)
                rebuilt = linear(blocks["reconstruct"][layer], merged)
                own = linear(blocks["project"][layer], made.student.hidden_states[layer + 1][b, t].tolist())
                f += sum((p - q) ** 2 for p, q in zip(own, merged, strict=True)) / 8
                r[0] += sum((p - q) ** 2 for p, q in zip(rebuilt[:6], together[:6], strict=True)) / 6
                r[1] += sum((p - q) ** 2 for p, q in zip(rebuilt[6:], together[6:], strict=True)) / 5
            follow += f / len(real)
            rebuild += sum(r) / len(real)
        assert terms["features"][b].item() == pytest.approx(0.7 * follow, rel=1e-9)
        assert terms["reconstruction"][b].item() == pytest.approx(0.7 * rebuild, rel=1e-9)
    assert set(terms) == {"kl", "features", "reconstruction"}


def test_dfas_merged_states_are_a_target_and_learn_from_reconstruction_alone() -> None:
    made, terms = inputs("dfa")
    terms["features"].sum().backward(retain_graph=True)
    assert all(p.grad is None for p in made.modules["merge"].parameters())
    assert all(p.grad is not None for p in made.modules["project"].parameters())
    terms["reconstruction"].sum().backward()
    assert all(p.grad is not None for p in made.modules["merge"].parameters())


@pytest.mark.parametrize(
    ("student", "teachers", "expected"),
    [
        (3, (6, 3), ((2, 4, 6), (1, 2, 3))),
        (4, (3, 2), ((1, 2, 3, 3), (1, 1, 2, 2))),
        (2, (12, 1), ((6, 12), (1, 1))),
    ],
)
def test_which_layers_dfa_compares(student: int, teachers: tuple[int, ...], expected: object) -> None:
    context = Context(SPACE, student=ModelShape(8, student), teachers=tuple(ModelShape(8, n) for n in teachers))
    assert create("dfa").teacher_layers(context) == expected


def two_layers(module: torch.nn.Sequential, x: list[float]) -> list[float]:
    return linear(module[2], [max(0.0, v) for v in linear(module[0], x)])


@pytest.mark.parametrize("features", ["pooled", "tokens"])
def test_cfl(features: str) -> None:
    """One point per text: the feature of its mean state, or those of its tokens side by side, with zeros for tokens without a counterpart."""
    made, terms = inputs("cfl", features=features, feature_weight=0.3)
    blocks, rows, student = made.modules, made.rows, made.student

    def common(module: torch.nn.Linear, x: list[float]) -> list[float]:
        return two_layers(blocks["extract"], [max(0.0, v) for v in linear(module, x)])

    last = student.hidden_states[-1]
    follow, rebuild = 0.0, [0.0] * B
    for i, teacher in enumerate(rows.teachers):
        own: Lists = []
        theirs: Lists = []
        for b in range(B):
            if features == "pooled":
                real = [t for t in range(L) if bool(student.attention_mask[b, t])]
                mean = [sum(float(last[b, t, d]) for t in real) / len(real) for d in range(last.shape[-1])]
                pairs: list[tuple[list[float], list[float]] | None] = [
                    (mean, teacher.pooled_states[0][b].double().tolist())
                ]
            else:
                states = teacher.token_states[0]
                pairs = [
                    (last[b, t].tolist(), states[b, t].tolist()) if bool(teacher.token_mask[b, t]) else None
                    for t in range(L)
                ]
            count = sum(pair is not None for pair in pairs)
            own.append([])
            theirs.append([])
            for pair in pairs:
                if pair is None:
                    own[-1] += [0.0, 0.0]
                    theirs[-1] += [0.0, 0.0]
                    continue
                h = common(blocks["teachers"][i], pair[1])
                assert len(h) == 2, "a quarter of the student's width"
                own[-1] += common(blocks["student"], pair[0])
                theirs[-1] += h
                back = two_layers(blocks["decode"][i], h)
                rebuild[b] += sum((p - q) ** 2 for p, q in zip(back, pair[1], strict=True)) / len(back) / count
        assert len(own) == B, "one point per text"
        follow += loops.mmd2(own, theirs)
    assert terms["features"].item() == pytest.approx(0.3 * follow, rel=1e-9)
    assert terms["reconstruction"].tolist() == pytest.approx([0.3 * r for r in rebuild], rel=1e-9)


def test_padding_changes_nothing_of_cfl() -> None:
    """The same texts in a batch whose longest text is longer."""
    made, terms = inputs("cfl", features="tokens")
    more = torch.randn(B, 3, STUDENT.hidden_size).double()
    hidden = (*made.student.hidden_states[:-1], torch.cat([made.student.hidden_states[-1], more], 1))
    mask = torch.nn.functional.pad(made.student.attention_mask, (0, 3))
    teachers = tuple(
        replace(
            t,
            token_states=tuple(torch.nn.functional.pad(s, (0, 0, 0, 3)) for s in t.token_states),
            token_mask=torch.nn.functional.pad(t.token_mask, (0, 3)),
        )
        for t in made.rows.teachers
    )
    longer = replace(made, student=StudentOutput(made.student.logits, mask, hidden), rows=Rows(teachers))
    found = create({"name": "cfl", "features": "tokens"}).loss(longer)
    for name, term in terms.items():
        torch.testing.assert_close(found[name], term, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["dfa", "cfl"])
def test_without_features_it_is_vanilla_kd(name: str) -> None:
    made, terms = inputs(name, feature_weight=0.0, temperature=2.0)
    plain = create({"name": "vanilla_kd", "temperature": 2.0})
    expected = plain.loss(
        LossInputs(
            made.student, made.rows, plain.supervise(made.rows, made.context), made.modules, made.context, Phase()
        )
    )
    assert torch.equal(terms["kl"], expected["kl"])
    assert terms["features"].sum().item() == terms["reconstruction"].sum().item() == 0.0


@pytest.mark.parametrize("name", ["dfa", "cfl"])
def test_frozen_blocks_learn_their_biases_alone(name: str) -> None:
    context = Context(SPACE, student=STUDENT, teachers=TEACHERS)
    assert all(p.requires_grad for p in create(name).modules(context).parameters())
    learns = {
        n: p.requires_grad for n, p in create({"name": name, "frozen_blocks": True}).modules(context).named_parameters()
    }
    assert learns == {n: n.endswith(".bias") for n in learns}
    assert len(set(learns.values())) == 2
