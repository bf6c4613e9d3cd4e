"""The reference that the teachers give, and how far from it the supervision is."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.evaluation.reference_distance import EPSILON, distance, kl_to, oracle_routing
from alloykit.labels import LabelSpace

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
SETS = {
    "disjoint": (("a", "b", "c"), ("d", "e"), ("f", "g")),
    "overlapping": (("a", "b", "c"), ("c", "d"), ("d", "c", "e", "f")),
}


def random_rows(n, c, seed, scale=2.0):
    z = scale * torch.randn(n, c, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return z.softmax(-1)


def said(kind, n, seed):
    """Per teacher, probabilities over the union, zero at labels that it does not know."""
    space = LabelSpace.union(SETS[kind])
    return space, [
        space.scatter(i, random_rows(n, len(labels), 10 * seed + i)) for i, labels in enumerate(space.teachers)
    ]


def kl_by_loop(p, q, epsilon):
    mixed = [(1 - epsilon) * b + epsilon / len(q) for b in q]
    return math.fsum(a * math.log(a / b) for a, b in zip(p, mixed, strict=True) if a > 0)


@pytest.mark.parametrize("kind", list(SETS))
def test_owners_are_the_teachers_that_know_the_true_label(kind):
    space, teachers = said(kind, 60, 1)
    labels = torch.arange(60) % space.size
    found = oracle_routing(teachers, labels, space)
    assert found.shape == (60, space.size)
    assert found.dtype == torch.float64
    for x, y in enumerate(labels.tolist()):
        owners = [i for i, names in enumerate(space.teachers) if space.names[y] in names]
        assert owners
        for c in range(space.size):
            wanted = sum(float(teachers[i][x, c]) for i in owners) / len(owners)
            assert found[x, c].item() == pytest.approx(wanted, abs=1e-12)
    assert found.sum(-1).tolist() == pytest.approx([1] * 60)


def test_a_shared_label_has_the_mean_of_its_owners():
    space = LabelSpace.union([("a", "b"), ("b", "c")])
    teachers = [torch.tensor([[0.8, 0.2, 0.0]] * 3), torch.tensor([[0.0, 0.6, 0.4]] * 3)]
    found = oracle_routing(teachers, torch.tensor([0, 1, 2]), space)
    for row, wanted in zip(found.tolist(), [[0.8, 0.2, 0], [0.4, 0.4, 0.2], [0, 0.6, 0.4]], strict=True):
        assert row == pytest.approx(wanted, abs=1e-7)


def test_a_teacher_without_an_answer_does_not_count() -> None:
    """Text 0: both know the label, one has an answer. 1: the one that knows it has none, so the other takes its place. 2: no answer at all."""
    space = LabelSpace.union([("a", "b"), ("a", "c")])
    teachers = [torch.tensor([[0.3, 0.7, 0.0]] * 3), torch.tensor([[0.9, 0.0, 0.1]] * 3)]
    counts = torch.tensor([[True, False], [True, False], [False, False]])
    found = oracle_routing(teachers, torch.tensor([0, 2, 2]), space, counts)
    for row, wanted in zip(found.tolist(), [[0.3, 0.7, 0], [0.3, 0.7, 0], [0.6, 0.35, 0.05]], strict=True):
        assert row == pytest.approx(wanted, abs=1e-7)


@quick
@given(st.integers(0, 1000), st.integers(2, 8), st.sampled_from([EPSILON, 0.1, 1e-6]), st.booleans())
def test_kl_follows_the_formula(seed, c, epsilon, hard):
    p, q = random_rows(4, c, seed), random_rows(4, c, seed + 1)
    if hard:
        p = torch.nn.functional.one_hot(p.argmax(-1), c)
        q = torch.nn.functional.one_hot(q.argmax(-1), c)
    found = kl_to(p, q, epsilon)
    assert found.shape == (4,)
    assert found.dtype == torch.float64
    for x in range(4):
        assert found[x].item() == pytest.approx(kl_by_loop(p[x].tolist(), q[x].tolist(), epsilon), abs=1e-9)


def test_a_wrongly_routed_hard_target_costs_a_finite_sum():
    p, q = torch.tensor([[0.0, 1.0, 0.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    assert kl_to(p, q).item() == pytest.approx(math.log(4 / 1e-3), rel=1e-9)
    assert kl_to(p, q, 1e-2).item() == pytest.approx(math.log(4 / 1e-2), rel=1e-9)


def test_the_reference_is_at_no_distance_from_itself():
    p = random_rows(50, 5, 3)
    assert kl_to(p, p).abs().max() < EPSILON * 1.1
    assert kl_to(p, p, 0.0).abs().max() < 1e-12
    hard = torch.eye(5)
    assert kl_to(hard, hard).max() < EPSILON * 1.1
    assert (kl_to(p, random_rows(50, 5, 4)) > -EPSILON).all()


def test_distance_splits_the_routing_at_one_half():
    reference = random_rows(6, 3, 5)
    ways = {"student": random_rows(6, 3, 6), "routing": random_rows(6, 3, 7)}
    weights = torch.tensor([0.0, 0.49, 0.5, 0.51, 1.0, 0.2])
    found = distance(reference, ways, weights)
    kl = {
        name: [kl_by_loop(*rows, 1e-3) for rows in zip(reference.tolist(), q.tolist(), strict=True)]
        for name, q in ways.items()
    }
    assert found["mean"] == {name: pytest.approx(sum(k) / 6) for name, k in kl.items()}
    assert found["clear_texts"] == 3
    assert found["routing_clear"] == pytest.approx(sum(kl["routing"][i] for i in (2, 3, 4)) / 3)
    assert found["routing_unclear"] == pytest.approx(sum(kl["routing"][i] for i in (0, 1, 5)) / 3)


def test_a_part_without_texts_has_no_distance():
    reference = random_rows(4, 3, 8)
    ways = {"routing": random_rows(4, 3, 9)}
    clear = distance(reference, ways, torch.ones(4))
    assert clear["clear_texts"] == 4
    assert clear["routing_clear"] == pytest.approx(clear["mean"]["routing"])
    assert clear["routing_unclear"] is None
    unclear = distance(reference, ways, torch.zeros(4))
    assert unclear["clear_texts"] == 0
    assert unclear["routing_clear"] is None
    assert unclear["routing_unclear"] == pytest.approx(unclear["mean"]["routing"])


def test_without_weights_or_routing_nothing_is_split():
    reference = random_rows(4, 3, 8)
    assert list(distance(reference, {"routing": reference}, None)) == ["mean"]
    assert list(distance(reference, {"student": reference}, torch.ones(4))) == ["mean"]
