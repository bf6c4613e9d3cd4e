"""McNemar, Holm, the paired bootstrap, Wilson and the t-test, against formulas written out."""

import math
import random
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alloykit.evaluation.significance import against, holm, interval, mcnemar, paired_bootstrap, t_test

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


def test_the_bootstrap_is_exact_about_the_difference_and_repeatable():
    a, b = drawn(0.8, 150, 0), drawn(0.7, 150, 1)
    found = paired_bootstrap(a, b, samples=800, seed=3)
    assert found["difference"] == pytest.approx(int(a.sum() - b.sum()) / 150, abs=1e-12)
    assert found["low"] < found["difference"] < found["high"]
    assert found == paired_bootstrap(a, b, samples=800, seed=3)
    assert found != paired_bootstrap(a, b, samples=800, seed=4)


def test_the_bootstrap_draws_texts_and_keeps_pairs():
    """Another program for it, in plain Python; two random numbers of draws differ by a few percent of the width."""
    a, b = pair(30, 17, 60, 13)
    gain = [int(x) - int(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    rng = random.Random(5)
    means = sorted(mean(rng.choices(gain, k=len(gain))) for _ in range(4000))
    found = paired_bootstrap(a, b, samples=4000)
    width = means[3900] - means[100]
    assert found["low"] == pytest.approx(means[100], abs=0.05 * width)
    assert found["high"] == pytest.approx(means[3900], abs=0.05 * width)
    assert found["p"] == pytest.approx(2 * sum(m <= 0 for m in means) / 4000, abs=0.02)


def test_classifiers_that_are_right_together_do_not_differ():
    a = drawn(0.6, 80, 2)
    assert paired_bootstrap(a, a, samples=50) == {"difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}


def test_the_smallest_p_is_set_by_the_number_of_draws():
    a = np.ones(30, bool)
    assert paired_bootstrap(a, ~a, samples=199)["p"] == pytest.approx(2 / 200)
    assert paired_bootstrap(~a, a, samples=199)["p"] == pytest.approx(2 / 200)


def test_the_interval_is_the_normal_one_on_many_texts():
    """To 6 %: the ends of 4000 draws are uncertain by about 1.5 % of the width."""
    a, b = drawn(0.8, 5000, 6), drawn(0.75, 5000, 7)
    gain = (a.astype(int) - b.astype(int)).tolist()
    half = Z * stdev(gain) / math.sqrt(5000)
    found = paired_bootstrap(a, b, samples=4000)
    assert found["high"] - found["low"] == pytest.approx(2 * half, rel=0.06)
    assert (found["high"] + found["low"]) / 2 == pytest.approx(mean(gain), abs=0.1 * half)


def test_swapping_two_classifiers_mirrors_the_result():
    a, b = drawn(0.8, (3, 120), 8), drawn(0.7, (3, 120), 9)
    one, other = paired_bootstrap(a, b, samples=500), paired_bootstrap(b, a, samples=500)
    assert one["difference"] == -other["difference"]
    assert one["low"] == pytest.approx(-other["high"], abs=1e-12)
    assert one["high"] == pytest.approx(-other["low"], abs=1e-12)
    assert one["p"] == other["p"]


def test_seeds_that_disagree_widen_the_interval():
    """Two of four seeds always win, two always lose: no luck of texts, all luck of training."""
    wins = np.array([[True], [True], [False], [False]]).repeat(100, axis=1)
    found = paired_bootstrap(wins, ~wins, samples=1000)
    assert (found["difference"], found["low"], found["high"]) == (0.0, -1.0, 1.0)
    assert found["p"] == 1.0
    mixed = np.array([[True, False] * 50] * 4)  # the same accuracy of every seed
    narrow = paired_bootstrap(mixed, ~mixed, samples=1000)
    assert narrow["difference"] == 0
    assert narrow["high"] - narrow["low"] < 0.5


def test_seeds_and_texts_that_are_all_noise():
    """A draw varies by σ²/(Sn) for its seeds and by nearly 2σ²/(Sn) for its texts, as seeds drawn twice average less."""
    a, b = drawn(0.8, (20, 2000), 10), drawn(0.7, (20, 2000), 11)
    found = paired_bootstrap(a, b, samples=2000)
    wanted = 2 * Z * math.sqrt(3 * np.var(a.astype(int) - b) / (20 * 2000))
    assert found["high"] - found["low"] == pytest.approx(wanted, rel=0.15)


def test_without_a_difference_p_is_small_in_about_one_of_twenty():
    pairs = [drawn(0.7, (2, 60), k) for k in range(200)]
    small = [paired_bootstrap(a, b, samples=500, seed=k)["p"] < 0.05 for k, (a, b) in enumerate(pairs)]
    assert 0.01 <= mean(small) <= 0.12


def test_one_against_all_others():
    right = {"x": drawn(0.9, 100, 0), "ours": drawn(0.85, 100, 1), "y": drawn(0.6, 100, 2), "z": drawn(0.75, 100, 3)}
    found = against(right, "ours")
    assert list(found) == ["x", "y", "z"]
    for name, f in found.items():
        assert f["difference"] == pytest.approx(float(right["ours"].mean() - right[name].mean()))
        assert f["mcnemar_p"] == mcnemar(right["ours"], right[name])
    assert paired_bootstrap(right["ours"], right["y"]).items() <= found["y"].items()
    for key in ("p", "mcnemar_p"):
        raw = [f[key] for f in found.values()]
        corrected = [f[f"{key}_holm"] for f in found.values()]
        assert corrected == pytest.approx(holm_by_loop(raw))
        assert all(c >= r for c, r in zip(corrected, raw, strict=True))
        assert any(c > r for c, r in zip(corrected, raw, strict=True))
    assert against({"ours": right["ours"]}, "ours") == {}


@quick
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_an_accuracy_is_wilsons(case):
    k, n = case
    p = k / n
    middle, half = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    wanted = [(middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)]
    assert list(interval(np.array([True] * k + [False] * (n - k)))) == pytest.approx(wanted, abs=1e-9)


def test_the_t_test_follows_the_formula():
    a, b = [0.91, 0.88, 0.93, 0.90, 0.89], [0.87, 0.88, 0.90, 0.91, 0.86]
    gain = [x - y for x, y in zip(a, b, strict=True)]
    t = mean(gain) / (stdev(gain) / math.sqrt(5))
    assert t_test(a, b) == pytest.approx(2 * stats.t.sf(abs(t), 4), rel=1e-9)
    assert t_test(b, a) == pytest.approx(t_test(a, b), rel=1e-9)


def test_the_t_test_without_spread():
    assert math.isnan(t_test([0.5, 0.75], [0.5, 0.75]))
    assert math.isnan(t_test([0.7, 0.8, 0.9], [0.6, 0.7, 0.8])), "alike but for rounding"
    assert math.isnan(t_test([0.9], [0.1]))
    assert math.isnan(t_test([], []))
