"""Reliability bins, ECE and the one temperature, against plain loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.evaluation.reliability import BINS, reliability
from alloykit.stats.temperature import fit_temperature, tempered

quick = settings(max_examples=30, deadline=None, derandomize=True, database=None)


def random_logits(n, c, seed=0, scale=2.0):
    return scale * torch.randn(n, c, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softmax(z, temperature=1.0):
    e = [math.exp((v - max(z)) / temperature) for v in z]
    return [v / sum(e) for v in e]


def bins_by_loop(probabilities, labels, bins):
    """ECE, overconfidence and (low, high, texts, confidence, accuracy) of every bin that has texts."""
    n, ece, rows = len(labels), 0.0, []
    tops = [(max(p), float(p.index(max(p)) == y)) for p, y in zip(probabilities, labels, strict=True)]
    for b in range(bins):
        inside = [(c, r) for c, r in tops if b / bins < c <= (b + 1) / bins]
        if inside:
            said, was = (math.fsum(column) / len(inside) for column in zip(*inside, strict=True))
            ece += len(inside) / n * abs(was - said)
            rows.append((b / bins, (b + 1) / bins, len(inside), said, was))
    return ece, math.fsum(c - r for c, r in tops) / n, rows


@quick
@given(st.integers(0, 10_000), st.integers(1, 200), st.integers(2, 7), st.sampled_from([1, 5, BINS]))
def test_bins_and_error_follow_the_formula(seed, n, c, bins):
    p = random_logits(n, c, seed).softmax(-1)
    labels = torch.randint(c, (n,), generator=torch.Generator().manual_seed(seed))
    found = reliability(p, labels, bins)
    ece, overconfidence, rows = bins_by_loop(p.tolist(), labels.tolist(), bins)
    assert found["ece"] == pytest.approx(ece, abs=1e-12)
    assert found["overconfidence"] == pytest.approx(overconfidence, abs=1e-12)
    assert [tuple(row.values()) for row in found["bins"]] == [pytest.approx(row) for row in rows]
    assert [list(row) for row in found["bins"]] == [["low", "high", "texts", "confidence", "accuracy"]] * len(rows)


def test_fifteen_bins_unless_told_otherwise():
    p = torch.stack([torch.linspace(0.5, 1, 1000), 1 - torch.linspace(0.5, 1, 1000)], -1)
    found = reliability(p, torch.zeros(1000, dtype=torch.int64))["bins"]
    assert [(row["low"], row["high"]) for row in found] == [(b / 15, (b + 1) / 15) for b in range(7, 15)]


def test_a_calibrated_classifier_has_no_error():
    """Of 20 texts at confidence k/20, k are right."""
    p, labels = [], []
    for k in range(11, 21):
        p += [[k / 20, 1 - k / 20]] * 20
        labels += [0] * k + [1] * (20 - k)
    found = reliability(torch.tensor(p, dtype=torch.float64), torch.tensor(labels))
    assert found["ece"] == pytest.approx(0, abs=1e-12)
    assert found["overconfidence"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("k", range(1, BINS + 1))
def test_a_confidence_on_an_edge_belongs_to_the_bin_below(k):
    def place(confidence):
        rest = (1 - confidence) / 14
        found = reliability(torch.tensor([[confidence] + [rest] * 14], dtype=torch.float64), torch.tensor([0]))
        [row] = found["bins"]
        return round(row["low"] * BINS), round(row["high"] * BINS)

    assert place(k / BINS) == (k - 1, k)
    if k < BINS:
        assert place(k / BINS + 1e-9) == (k, k + 1)


def test_overconfidence_has_a_sign():
    p = torch.tensor([[0.9, 0.1]] * 10)
    some_right = torch.tensor([0] * 4 + [1] * 6)
    assert reliability(p, some_right)["overconfidence"] == pytest.approx(0.5, abs=1e-6)
    assert reliability(p, torch.zeros(10, dtype=torch.int64))["overconfidence"] == pytest.approx(-0.1, abs=1e-6)
    assert reliability(p, some_right)["ece"] == pytest.approx(0.5, abs=1e-6)


@quick
@given(st.integers(0, 1000), st.floats(0.2, 10))
def test_tempered_is_what_divided_logits_would_have_given(seed, temperature):
    z = random_logits(5, 4, seed)
    found = tempered(z.softmax(-1), temperature)
    assert found.dtype == torch.float64
    for row, logits in zip(found.tolist(), z.tolist(), strict=True):
        assert row == pytest.approx(softmax(logits, temperature), abs=1e-9)


def test_tempered_certainty_stays_finite():
    found = tempered(torch.tensor([[1.0, 0.0, 0.0]]), 3.0)
    assert torch.isfinite(found).all()
    assert found.sum().item() == pytest.approx(1)
    assert found[0].tolist() == pytest.approx(softmax([0, math.log(1e-12), math.log(1e-12)], 3.0))


@pytest.mark.parametrize("factor", [0.4, 1.0, 3.0, 7.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_known_temperature_is_found_again(factor, weighted):
    z = random_logits(300, 5, scale=0.5)
    weights = torch.rand(300, generator=torch.Generator().manual_seed(1)) if weighted else None
    found = fit_temperature((factor * z).softmax(-1), z.softmax(-1), weights)
    assert found == pytest.approx(factor, rel=2e-3)


def mixed_up():
    """The first 100 texts are twice too sure, the other 100 four times."""
    z = random_logits(200, 4, seed=2, scale=1.0)
    factor = torch.tensor([2.0] * 100 + [4.0] * 100, dtype=torch.float64)
    return (factor[:, None] * z).softmax(-1), z.softmax(-1)


def test_texts_of_weight_zero_do_not_matter():
    p, targets = mixed_up()
    first, second = torch.tensor([1.0] * 100 + [0.0] * 100), torch.tensor([0.0] * 100 + [1.0] * 100)
    assert fit_temperature(p, targets, first) == pytest.approx(2, rel=2e-3)
    assert fit_temperature(p, targets, second) == pytest.approx(4, rel=2e-3)
    assert 2.2 < fit_temperature(p, targets) < 3.8


def test_a_text_of_weight_three_counts_like_three_texts():
    p, targets = mixed_up()
    often = torch.arange(200).repeat_interleave(torch.tensor([3] * 100 + [1] * 100))
    weights = torch.tensor([3] * 100 + [1] * 100)
    assert fit_temperature(p, targets, weights) == pytest.approx(fit_temperature(p[often], targets[often]), rel=2e-3)


def test_the_temperature_is_the_best_of_a_grid():
    p = random_logits(80, 3, seed=4).softmax(-1)
    targets = random_logits(80, 3, seed=5).softmax(-1) + p
    targets = targets / targets.sum(-1, keepdim=True)

    def cross_entropy(t):
        rows = zip(targets.tolist(), p.log().tolist(), strict=True)
        return -math.fsum(a * math.log(b) for y, z in rows for a, b in zip(y, softmax(z, t), strict=True))

    best = min((0.05 * 1.02**k for k in range(300)), key=cross_entropy)
    assert fit_temperature(p, targets) == pytest.approx(best, rel=0.02)


def test_without_any_weight_the_temperature_is_one():
    p, targets = mixed_up()
    assert fit_temperature(p, targets, torch.zeros(200)) == 1.0


def test_the_temperature_is_bounded():
    p = random_logits(50, 4).softmax(-1)
    always_right = torch.nn.functional.one_hot(p.argmax(-1), 4)
    assert fit_temperature(p, always_right) == pytest.approx(0.05, rel=0.05)
    assert fit_temperature(p, torch.full_like(p, 0.25)) == pytest.approx(20, rel=0.01)
