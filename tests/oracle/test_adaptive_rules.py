"""The estimators and rules of adaptive passes against plain float64 loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from alloykit.uncertainty.adaptive import ROUNDS, Rule, jackknifed_entropy, standard_error
from alloykit.uncertainty.entropy import entropy


def sampled(k: int, texts: int, classes: int, seed: int = 0, spread: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(1, texts, classes)) * 2 + spread * rng.normal(size=(k, texts, classes))
    p = np.exp(z)
    return p / p.sum(-1, keepdims=True)


def loop_entropy(p: np.ndarray) -> float:
    return -sum(float(v) * math.log(v) for v in p if v > 0)


@pytest.mark.parametrize("k", ROUNDS)
@pytest.mark.parametrize("classes", [2, 5])
def test_jackknife(k: int, classes: int) -> None:
    p = sampled(k, 6, classes)
    found = jackknifed_entropy(torch.from_numpy(p))
    for text in range(6):
        one = p[:, text]
        whole = loop_entropy(one.mean(0))
        left_out = [loop_entropy(np.delete(one, j, axis=0).mean(0)) for j in range(k)]
        u = k * whole - (k - 1) / k * sum(left_out)
        assert float(found[text]) == pytest.approx(min(1.0, max(0.0, u / math.log(classes))), abs=1e-12)


def test_jackknife_removes_most_of_the_bias() -> None:
    """Over many draws of four passes: the plug-in entropy is too low, the jackknifed one nearly right."""
    truth = float(entropy(torch.from_numpy(sampled(200_000, 1, 3, spread=0.8)).mean(0)) / math.log(3))
    many = torch.from_numpy(sampled(4 * 20_000, 1, 3, spread=0.8).reshape(4, 20_000, 3))
    plug_in = float((entropy(many.mean(0)) / math.log(3)).mean())
    jackknifed = float(jackknifed_entropy(many).mean())
    # `sampled` draws its centre once per call, from the same seed: all draws are of one text.
    assert plug_in < truth - 0.01
    assert abs(jackknifed - truth) < 0.25 * abs(plug_in - truth)


def test_standard_error() -> None:
    p = sampled(8, 5, 3)
    found = standard_error(torch.from_numpy(p))
    for text in range(5):
        mean = p[:, text].mean(0)
        g = [-sum(float(p[j, text, y]) * math.log(mean[y]) for y in range(3)) for j in range(8)]
        sd = math.sqrt(sum((v - sum(g) / 8) ** 2 for v in g) / 7)
        assert float(found[text]) == pytest.approx(sd / math.sqrt(8) / math.log(3), rel=1e-12)
    still = torch.from_numpy(np.repeat(p[:1], 4, axis=0))
    assert standard_error(still).max() < 1e-12
    assert (standard_error(still, 0.002) == 0.002).all()


@pytest.mark.parametrize("teachers", [2, 4])
@pytest.mark.parametrize("k", ROUNDS)
def test_hard_rule(teachers: int, k: int) -> None:
    rng = np.random.default_rng(teachers)
    c, se = rng.uniform(size=(300, teachers)), rng.uniform(0.001, 0.06, size=(300, teachers))
    c[::3] = 0.7 + rng.uniform(-0.004, 0.004, size=c[::3].shape)  # rivals so close that it does not matter
    se[::3] = 0.0011
    rule = Rule("hard")
    found = rule.settled(torch.from_numpy(c), torch.from_numpy(se), k)
    t = stats.t.ppf(1 - 0.01 / (3 * (teachers - 1)), k - 1)
    for i in range(300):
        a = int(np.argmax(c[i]))
        fine = True
        for b in range(teachers):
            if b != a:
                spread = t * math.sqrt(se[i, a] ** 2 + se[i, b] ** 2)
                gap = c[i, a] - c[i, b]
                fine &= gap > spread or (gap + spread <= 0.02 and gap - spread >= -0.02)
        assert bool(found[i]) == fine, (c[i], se[i])
    assert 0 < int(found.sum()) < 300


@pytest.mark.parametrize("teachers", [2, 3])
def test_soft_rule(teachers: int) -> None:
    rng = np.random.default_rng(teachers)
    c, se = rng.uniform(size=(300, teachers)), rng.uniform(0.001, 0.03, size=(300, teachers))
    rule = Rule("soft", temperature=0.2)
    found = rule.settled(torch.from_numpy(c), torch.from_numpy(se), 4)
    for i in range(300):
        e = np.exp(c[i] / 0.2)
        w = e / e.sum()
        off = 0.0
        for a in range(teachers):
            off = max(off, sum(abs(((a == b) * w[a] - w[a] * w[b]) / 0.2) * se[i, b] for b in range(teachers)))
        first, second = np.argsort(-c[i])[:2]
        margin = math.sqrt(se[i, first] ** 2 + se[i, second] ** 2)
        assert bool(found[i]) == (1.96 * off <= 0.02 and margin <= 0.02)
    assert 0 < int(found.sum()) < 300


def test_one_teacher_is_settled_at_once() -> None:
    for mode in ("hard", "soft"):
        assert Rule(mode).settled(torch.rand(3, 1), torch.rand(3, 1), 4).all()  # type: ignore[arg-type]
