"""How sure the student is of the pool, by loops over plain lists."""

import math

import pytest
import torch

from alloykit.evaluation.student_confidence import BINS, SHOWN, pool_confidence
from alloykit.methods.protocol import Supervision

NAMES = ["a", "b", "c", "d"]


def random_logits(n, seed=0, scale=2.0):
    return scale * torch.randn(n, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softmax(z, temperature=1.0):
    e = [math.exp((v - max(z)) / temperature) for v in z]
    return [v / sum(e) for v in e]


def case(n=60, temperature=3.0, unseen=40):
    """A student that is three times too confident on the texts that it did not see; of the others, all it is told is 'd'."""
    z = random_logits(n)
    g = torch.Generator().manual_seed(1)
    targets, new = (z / temperature).softmax(-1), torch.tensor([True] * unseen + [False] * (n - unseen))
    targets[~new] = torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    rows = (5 * torch.randperm(n, generator=g)).tolist()
    return z, Supervision(targets, torch.rand(n, generator=g)), new, rows


def test_the_temperature_comes_from_unseen_texts_alone():
    z, supervision, new, rows = case()
    found = pool_confidence(z.softmax(-1), supervision, new, NAMES, rows)
    assert found["texts"] == 60
    assert found["unseen_texts"] == 40
    assert found["temperature"] == pytest.approx(3, rel=2e-3)
    tops = [max(softmax(row, found["temperature"])) for row in z.tolist()]
    assert found["mean_confidence"] == pytest.approx(sum(tops) / 60, abs=1e-9)
    counts = [0] * BINS
    for c in tops:
        counts[min(int(c * BINS), BINS - 1)] += 1
    assert found["confidence"] == counts
    assert sum(counts) == 60


def test_texts_without_weight_do_not_set_the_temperature():
    z, supervision, new, rows = case(unseen=60)
    targets, v = supervision.targets.clone(), supervision.weights.clone()
    targets[:30], v[:30] = 0.25, 0.0
    found = pool_confidence(z.softmax(-1), Supervision(targets, v), new, NAMES, rows)
    assert found["temperature"] == pytest.approx(3, rel=2e-3)


@pytest.mark.parametrize("unseen", [0, 1])
def test_too_few_unseen_texts_set_no_temperature(unseen):
    z, supervision, new, rows = case(unseen=unseen)
    check_plain(pool_confidence(z.softmax(-1), supervision, new, NAMES, rows), z)


def test_without_supervision_there_is_no_temperature():
    z, _, new, rows = case()
    check_plain(pool_confidence(z.softmax(-1), None, new, NAMES, rows), z)


def check_plain(found, z):
    assert found["temperature"] is None
    assert "same_as_supervision" not in found
    assert "unseen_texts" not in found
    assert found["mean_confidence"] == pytest.approx(sum(max(softmax(row)) for row in z.tolist()) / len(z))


def test_two_unseen_texts_are_enough():
    z, supervision, new, rows = case(unseen=2)
    assert pool_confidence(z.softmax(-1), supervision, new, NAMES, rows)["temperature"] == pytest.approx(3, rel=2e-3)


def test_same_as_supervision_by_loop():
    z, _, new, rows = case()
    supervision = Supervision(
        random_logits(60, 5).softmax(-1), torch.rand(60, generator=torch.Generator().manual_seed(6))
    )
    found = pool_confidence(z.softmax(-1), supervision, new, NAMES, rows)
    total = same = 0.0
    for x in range(40):
        v = float(supervision.weights[x])
        total += v
        said, told = z[x].tolist(), supervision.targets[x].tolist()
        same += v * (said.index(max(said)) == told.index(max(told)))
    assert 0 < same < total
    assert found["same_as_supervision"] == pytest.approx(same / total)


def test_without_any_weight_nothing_can_be_compared():
    z, supervision, new, rows = case()
    found = pool_confidence(z.softmax(-1), Supervision(supervision.targets, torch.zeros(60)), new, NAMES, rows)
    assert found["temperature"] == 1.0
    assert found["same_as_supervision"] is None


def test_predicted_labels_are_counted():
    p = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.4, 0.3, 0.2, 0.1]])
    found = pool_confidence(p, None, torch.zeros(3, dtype=torch.bool), NAMES, [0, 1, 2])
    assert found["predicted"] == {"a": 2, "b": 0, "c": 1, "d": 0}


def test_the_least_certain_texts_come_first():
    z, supervision, new, rows = case()
    found = pool_confidence(z.softmax(-1), supervision, new, NAMES, rows)
    calibrated = [softmax(row, found["temperature"]) for row in z.tolist()]
    order = sorted(range(60), key=lambda x: max(calibrated[x]))[:20]
    assert SHOWN == 20
    assert [entry["row"] for entry in found["least_certain"]] == [rows[x] for x in order]
    for entry, x in zip(found["least_certain"], order, strict=True):
        best = sorted(range(4), key=lambda c: -calibrated[x][c])[:2]
        assert list(entry["labels"]) == [NAMES[c] for c in best]
        assert list(entry["labels"].values()) == pytest.approx([calibrated[x][c] for c in best])


def test_ties_are_in_the_order_of_the_rows():
    p = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.6, 0.4], [0.1, 0.9]], dtype=torch.float64)
    none = torch.zeros(5, dtype=torch.bool)
    wanted = [(3, "b"), (7, "a"), (11, "a"), (1, "b"), (2, "a")]
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 3, 4, 1]):
        rows = [[2, 11, 3, 7, 1][i] for i in order]
        found = pool_confidence(p[order], None, none, ["a", "b"], rows)["least_certain"]
        assert [(entry["row"], next(iter(entry["labels"]))) for entry in found] == wanted
