"""McNemar, Holm, the paired interval and Wilson's, against formulas written out."""

import math
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from alloykit.evaluation.significance import (
    against,
    best_against,
    holm,
    interval,
    mcnemar,
    paired_f1_interval,
    paired_interval,
)

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)
Z = NormalDist().inv_cdf(0.975)


def pair(only_a, only_b, both=3, neither=2):
    """Right answers of two classifiers with so many texts of each kind."""
    a = [True] * only_a + [False] * only_b + [True] * both + [False] * neither
    b = [False] * only_a + [True] * only_b + [True] * both + [False] * neither
    return np.array(a), np.array(b)


def drawn(share, shape, seed):
    return np.random.default_rng(seed).random(shape) < share


@quick
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5))
def test_mcnemar_is_the_binomial_sum_over_discordant_texts(only_a, only_b, both):
    n, k = only_a + only_b, min(only_a, only_b)
    wanted = min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n)
    a, b = pair(only_a, only_b, both)
    assert mcnemar(a, b) == pytest.approx(wanted, rel=1e-9)
    assert mcnemar(b, a) == mcnemar(a, b)


def test_mcnemar_by_hand():
    assert mcnemar(*pair(5, 0)) == pytest.approx(2 / 32)
    assert mcnemar(*pair(1, 7)) == pytest.approx(2 * (1 + 8) / 256)
    assert mcnemar(*pair(0, 0)) == 1.0
    assert mcnemar(*pair(4, 4)) == 1.0


def holm_by_loop(p):
    """The k-th smallest p times the number of tests from there on; never below a smaller one's, at most 1."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    found = {i: min(1.0, max((len(p) - r) * p[j] for r, j in enumerate(order[: k + 1]))) for k, i in enumerate(order)}
    return [found[i] for i in range(len(p))]


@quick
@given(st.lists(st.floats(0, 1), max_size=8).flatmap(lambda p: st.tuples(st.just(p), st.permutations(range(len(p))))))
def test_holm_steps_down_whatever_the_order(case):
    p, order = case
    found = holm(p)
    assert found == pytest.approx(holm_by_loop(p))
    assert [found[i] for i in order] == pytest.approx(holm([p[i] for i in order]))
    by_size = [found[i] for i in sorted(range(len(p)), key=lambda i: p[i])]
    assert by_size == sorted(by_size)
    assert all(raw <= corrected <= 1 for raw, corrected in zip(p, found, strict=True))


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.3, 0.6]) == pytest.approx([0.6, 0.6])
    assert holm([0.7, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def interval_by_loop(a, b):
    """The docstring's equation, a number at a time. a, b: lists of seeds, each a list of answers."""
    seeds, n = len(a), len(a[0])
    by_seed = [mean(int(x) - int(y) for x, y in zip(*row, strict=True)) for row in zip(a, b, strict=True)]
    by_text = [mean(int(a[s][t]) - int(b[s][t]) for s in range(seeds)) for t in range(n)]
    variance = stdev([*by_text, 1, -1]) ** 2 / (n + 2)
    squared = stats.t.ppf(0.975, n + 1) ** 2 * variance
    if seeds > 1:
        squared += stats.t.ppf(0.975, seeds - 1) ** 2 * stdev(by_seed) ** 2 / seeds
    d, half = mean(by_seed), math.sqrt(squared)
    return d, max(d - half, -1.0), min(d + half, 1.0)


@quick
@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 1000))
def test_the_interval_is_that_of_the_equation(seeds, n, chance):
    a, b = drawn(0.8, (seeds, n), chance), drawn(0.6, (seeds, n), chance + 1)
    found = paired_interval(a, b)
    assert (found["difference"], found["low"], found["high"]) == pytest.approx(
        interval_by_loop(a.tolist(), b.tolist()), abs=1e-12
    )


@quick
@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 1000))
def test_p_is_the_level_at_which_the_interval_touches_zero(seeds, n, chance):
    a, b = drawn(0.8, (seeds, n), chance), drawn(0.6, (seeds, n), chance + 1)
    found = paired_interval(a, b)
    assert (found["p"] < 0.05) == (found["low"] > 0 or found["high"] < 0)
    by_text = np.append((a.astype(int) - b).mean(0), [1, -1])
    squared = (stats.t.ppf(1 - found["p"] / 2, n + 1) ** 2) * by_text.var(ddof=1) / (n + 2)
    if seeds > 1:
        by_seed = (a.astype(int) - b).mean(1)
        squared += (stats.t.ppf(1 - found["p"] / 2, seeds - 1) ** 2) * by_seed.var(ddof=1) / seeds
    assert math.sqrt(squared) == pytest.approx(abs(found["difference"]), rel=1e-4, abs=1e-9)


def test_swapping_two_classifiers_mirrors_the_result():
    a, b = drawn(0.8, (3, 120), 8), drawn(0.7, (3, 120), 9)
    one, other = paired_interval(a, b), paired_interval(b, a)
    assert one == {"difference": -other["difference"], "low": -other["high"], "high": -other["low"], "p": other["p"]}
    order = np.random.default_rng(0).permutation(120)
    assert paired_interval(a[::-1, order], b[::-1, order]) == pytest.approx(one)


def test_one_seed_speaks_of_its_texts_only():
    """Like Bonett and Price's interval for paired shares, with their two extra texts."""
    a, b = pair(30, 17, 60, 13)
    n, gained, lost = 120, 31 / 122, 18 / 122
    variance = (gained + lost - (gained - lost) ** 2) / (n + 1)
    found = paired_interval(a, b)
    assert found == paired_interval(a[None], b[None])
    assert found["difference"] == pytest.approx(13 / 120)
    assert found["high"] - found["difference"] == pytest.approx(stats.t.ppf(0.975, n + 1) * math.sqrt(variance))
    for only_a, only_b in ((5, 0), (9, 2), (20, 9), (40, 40)):  # near the exact test, which is a little more careful
        a, b = pair(only_a, only_b, 300, 100)
        assert paired_interval(a, b)["p"] == pytest.approx(mcnemar(a, b), abs=0.03 if only_a < 40 else 0.1)


def test_classifiers_that_are_right_on_the_same_texts_may_still_differ_a_little():
    a = drawn(0.6, 80, 2)
    found = paired_interval(a, a)
    assert (found["difference"], found["p"]) == (0.0, 1.0)
    assert 0.02 < found["high"] == -found["low"] < 3 / 80
    two = paired_interval(np.stack([a, a]), np.stack([a, a]))
    assert two == found, "two seeds without any spread add nothing"


def test_no_interval_leaves_the_shares():
    a = np.ones((2, 30), bool)
    assert paired_interval(a, ~a) == {
        "difference": 1.0,
        "low": pytest.approx(0.87, abs=0.02),
        "high": 1.0,
        "p": pytest.approx(0, abs=1e-9),
    }


def test_seeds_that_disagree_widen_the_interval():
    """Two of four seeds always win, two always lose: no luck of texts, all luck of training."""
    wins = np.array([[True], [True], [False], [False]]).repeat(100, axis=1)
    found = paired_interval(wins, ~wins)
    assert (found["difference"], found["low"], found["high"], found["p"]) == (0.0, -1.0, 1.0, 1.0)
    mixed = np.array([[True, False] * 50] * 4)  # the same accuracy of every seed
    narrow = paired_interval(mixed, ~mixed)
    assert narrow["difference"] == 0
    assert narrow["high"] - narrow["low"] < 0.5


def test_more_seeds_do_not_shrink_the_luck_of_the_texts():
    """Every seed answers alike: 50 seeds know no more about other texts than one."""
    a, b = drawn(0.8, 100, 10), drawn(0.7, 100, 11)
    one, many = paired_interval(a, b), paired_interval(np.stack([a] * 50), np.stack([b] * 50))
    assert many == pytest.approx(one)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.0, 0.02, 0.1])
def test_without_a_difference_the_interval_excludes_zero_in_at_most_one_of_twenty(seeds, spread):
    """600 pairs of equally good classifiers on 200 shared texts, some of which are easier for one of them. At 5 % and chance alone more
    than 7.5 % (45) happen in 1 of 200 such tests; an interval from the seeds alone, or from the texts alone, is wrong far more often."""
    rng = np.random.default_rng(seeds)
    liking = rng.normal(0, 0.2, (600, 1, 200))  # a text's leaning towards a; its mean over these texts is luck
    chance = 0.6 + np.stack([liking, -liking]) / 2 + rng.normal(0, spread / math.sqrt(2), (2, 600, seeds, 1))
    a, b = rng.random((2, 600, seeds, 200)) < chance
    wrong = [not found["low"] <= 0 <= found["high"] for found in map(paired_interval, a, b)]
    assert sum(wrong) <= 45


def test_one_against_all_others():
    right = {"x": drawn(0.9, 100, 0), "ours": drawn(0.85, 100, 1), "y": drawn(0.6, 100, 2), "z": drawn(0.75, 100, 3)}
    found = against(right, "ours")
    assert list(found) == ["x", "y", "z"]
    for name, f in found.items():
        assert f["difference"] == pytest.approx(float(right["ours"].mean() - right[name].mean()))
        assert f["mcnemar_p"] == mcnemar(right["ours"], right[name])
    assert paired_interval(right["ours"], right["y"]).items() <= found["y"].items()
    for key in ("p", "mcnemar_p"):
        raw = [f[key] for f in found.values()]
        corrected = [f[f"{key}_holm"] for f in found.values()]
        assert corrected == pytest.approx(holm_by_loop(raw))
        assert all(c >= r for c, r in zip(corrected, raw, strict=True))
        assert any(c > r for c, r in zip(corrected, raw, strict=True))
    assert against({"ours": right["ours"]}, "ours") == {}


def test_the_best_is_corrected_over_all_pairs():
    """Which of ten equal classifiers is the best is luck, so each of the 45 pairs had a chance to be looked at."""
    right = {name: drawn(0.8, 200, n) for n, name in enumerate("abcdefghij")}
    best = max(right, key=lambda name: right[name].mean())
    found, names = best_against(right, best), sorted(right)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    corrected = dict(
        zip(pairs, holm_by_loop([paired_interval(right[a], right[b])["p"] for a, b in pairs]), strict=True)
    )
    assert set(found) == set(names) - {best}
    for name, f in found.items():
        assert f["difference"] == pytest.approx(float(right[best].mean() - right[name].mean()))
        assert f["p_holm"] == pytest.approx(corrected[min(best, name), max(best, name)])
        assert f["p_holm"] >= against(right, best)[name]["p_holm"]


def test_the_interval_of_a_difference_of_f1_by_loop():
    """The delta method: how much Σ h / Σ d moves with each text, from the derivative, beside one more text that each classifier wins."""
    rng = np.random.default_rng(3)
    truth, a, b = (rng.random((40, 6)) < share for share in (0.3, 0.3, 0.4))
    a |= truth & (rng.random((40, 6)) < 0.6)
    counts = [np.stack([2 * (p & truth).sum(-1), p.sum(-1) + truth.sum(-1)], -1) for p in (a, b)]
    moved, f1 = [], []
    for h, d in (c.T for c in counts):
        f1.append(sum(h) / sum(d))
        assert f1[-1] == pytest.approx(f1_score(truth, a if len(f1) == 1 else b, average="micro"))
        slopes = 1 / sum(d), -sum(h) / sum(d) ** 2
        moved.append([40 * (slopes[0] * h[t] + slopes[1] * d[t]) for t in range(40)])
    difference = f1[0] - f1[1]
    gains = [x - y + difference for x, y in zip(*moved, strict=True)] + [1.0, -1.0]
    mean = sum(gains) / 42
    half = stats.t.ppf(0.975, 41) * np.sqrt(sum((g - mean) ** 2 for g in gains) / 41 / 42)
    found = paired_f1_interval(*counts)
    assert found["difference"] == pytest.approx(difference)
    assert (found["low"], found["high"]) == pytest.approx((difference - half, difference + half))
    assert (found["p"] < 0.05) == (half < abs(difference))


def test_the_interval_of_a_difference_of_f1_misses_at_most_one_in_twenty():
    """Two equal classifiers of one label in five, on 30 texts: the true difference is 0."""
    rng, missed = np.random.default_rng(4), 0
    for _ in range(300):
        truth = rng.random((30, 5)) < 0.2
        counts = [
            np.stack([2 * (p & truth).sum(-1), p.sum(-1) + truth.sum(-1)], -1)
            for p in (truth ^ (rng.random((30, 5)) < 0.1) for _ in range(2))
        ]
        missed += paired_f1_interval(*counts)["p"] < 0.05
    assert missed <= 15


def test_the_same_answers_have_an_interval_with_a_width():
    counts = np.array([[2, 2], [0, 1], [2, 3]])
    found = paired_f1_interval(counts, counts)
    assert (found["difference"], found["p"]) == (0, 1)
    assert found["low"] < 0 < found["high"]


@quick
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_an_accuracy_is_wilsons(case):
    k, n = case
    p = k / n
    middle, half = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    wanted = [(middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)]
    assert list(interval(np.array([True] * k + [False] * (n - k)))) == pytest.approx(wanted, abs=1e-9)
