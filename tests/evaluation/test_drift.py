"""Drift against plain loops and scipy."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from alloykit.evaluation.drift import FINE, AnswerCounts, as_json, drift, from_json, kolmogorov_smirnov, psi
from alloykit.evaluation.significance import holm

NAMES = ("a", "b", "c")


def counted(n: int, seed: int, shares: tuple[float, ...], shift: float = 0.0, parts: int = 1) -> AnswerCounts:
    g = np.random.default_rng(seed)
    labels = g.choice(3, n, p=shares)
    confidence, energy = np.clip(g.normal(0.8 - shift, 0.1, n), 0, 1), g.normal(4 - 5 * shift, 1, n)
    counts = AnswerCounts.empty(3, 0.0, 8.0)
    for part in np.array_split(np.arange(n), parts):
        counts.add(labels[part], confidence[part], energy[part], int((labels[part] == 2).sum()))
    return counts


def test_psi_by_hand() -> None:
    p, q = np.array([10, 30, 0]), np.array([5, 5, 20])
    expected = 0.0
    for a, b in zip(p, q, strict=True):
        a, b = (a + 0.5) / 41.5, (b + 0.5) / 31.5
        expected += (b - a) * math.log(b / a)
    assert abs(psi(p, q) - expected) < 1e-12
    assert psi(p, p) == 0


def random_counts(n: int, g: np.random.Generator) -> AnswerCounts:
    """Three labels, confidences and energies that are all equally frequent."""
    counts = AnswerCounts.empty(3, 0.0, 1.0)
    counts.add(g.integers(0, 3, n), g.random(n), g.random(n))
    return counts


def test_few_texts_give_a_large_index_by_chance() -> None:
    """Of 100 samples that are like the pool, at least one of the three indices is above its `chance` in about 5 %."""
    g = np.random.default_rng(0)
    above = sum(drift(random_counts(3000, g), random_counts(200, g), NAMES)["psi"] > 0 for _ in range(100))
    assert 1 <= above <= 11


def test_chance_is_for_all_indices_of_all_questions() -> None:
    pool, new = random_counts(3000, np.random.default_rng(0)), random_counts(200, np.random.default_rng(1))
    found = drift(pool, new, NAMES, questions=4)
    for key, bins in (("labels", 3), ("confidence", 10), ("energy", 10)):
        expected = (1 / 3000 + 1 / 200) * stats.chi2.ppf(1 - 0.05 / (3 * 4), bins - 1)
        assert abs(found[key]["chance"] - expected) < 1e-12, key


def test_texts_with_several_labels_have_the_largest_index_of_a_label() -> None:
    """Each label has the bins "given" and "not given", and `chance` is for the largest of so many indices."""
    pool, new = (AnswerCounts.empty(3, 0.0, 1.0) for _ in range(2))
    g = np.random.default_rng(0)
    for counts, n, shares in ((pool, 400, (0.5, 0.2, 0.7)), (new, 300, (0.5, 0.6, 0.6))):
        counts.add(g.random((n, 3)) < np.array(shares), g.random(n), g.random(n))
    a, b = pool.labels.tolist(), new.labels.tolist()
    each = [psi(np.array([x, 400 - x]), np.array([y, 300 - y])) for x, y in zip(a, b, strict=True)]
    found = drift(pool, new, NAMES, multi_label=True)["labels"]
    assert found["psi"] == max(each) == each[1]
    expected = (1 / 400 + 1 / 300) * stats.chi2.ppf(1 - 0.05 / 3 / 3, 1)
    assert abs(found["chance"] - expected) < 1e-12
    assert found["shares"]["b"]["new"] == b[1] / 300


def test_few_texts_of_many_labels_say_little() -> None:
    pool, new = (AnswerCounts.empty(77, 0.0, 1.0) for _ in range(2))
    for counts, n in ((pool, 40), (new, 1)):
        counts.add(np.repeat(np.arange(77), n), np.ones(77 * n), np.ones(77 * n))
    assert drift(pool, new, [str(n) for n in range(77)])["labels"]["chance"] > 0.25


def test_ks_is_that_of_scipy() -> None:
    g = np.random.default_rng(0)
    a, b = g.integers(0, FINE, 400), g.integers(0, FINE, 300) // 2
    distance, p = kolmogorov_smirnov(np.bincount(a, minlength=FINE), np.bincount(b, minlength=FINE))
    expected = stats.ks_2samp(a, b, method="asymp")
    assert abs(distance - expected.statistic) < 1e-12
    assert p < 1e-3
    assert expected.pvalue < 1e-3
    c = a.copy()
    c[:30] //= 4
    counts = [np.bincount(each, minlength=FINE) for each in (a, c)]
    alike = stats.ks_2samp(a, c, method="asymp")
    assert 0.1 < alike.pvalue < 0.9
    assert kolmogorov_smirnov(*counts)[1] == pytest.approx(alike.pvalue, rel=0.05)


def test_a_share_has_changed_if_its_difference_is_significant_after_holm() -> None:
    pool, new = (AnswerCounts.empty(3, 0.0, 1.0) for _ in range(2))
    for counts, shares in ((pool, (300, 300, 400)), (new, (346, 300, 354))):
        n = sum(shares)
        counts.add(np.repeat(np.arange(3), shares), np.ones(n), np.ones(n))
    found = drift(pool, new, NAMES)
    assert found["labels"]["shares"]["a"]["p"] < 0.05 < found["labels"]["shares"]["a"]["p_holm"]
    assert found["changed"] == []


def test_equal_texts_are_stable_and_others_are_not() -> None:
    pool = counted(2000, 0, (0.5, 0.3, 0.2))
    same = drift(pool, counted(1500, 1, (0.5, 0.3, 0.2)), NAMES)
    assert same["psi"] == 0
    assert same["changed"] == []
    other = counted(1500, 1, (0.5, 0.1, 0.4), shift=0.2)
    found = drift(pool, other, NAMES)
    assert found["changed"] == ["c", "b"]
    assert min(found[key]["psi"] for key in ("labels", "confidence", "energy")) > 0.1
    assert found["confidence"]["mean"]["new"] < found["confidence"]["mean"]["pool"] - 0.15
    assert found["foreign"]["new"] == found["labels"]["shares"]["c"]["new"]
    table = [[int(a), 2000 - int(a)] for a in pool.labels]
    p = [stats.fisher_exact([t, [int(b), 1500 - int(b)]]).pvalue for t, b in zip(table, other.labels, strict=True)]
    assert np.allclose([row["p_holm"] for row in found["labels"]["shares"].values()], holm(p))
    assert sum(found["energy"]["histogram"]["pool"]) == 2000


def test_parts_give_the_same_counts_and_json_keeps_them() -> None:
    whole, parts = counted(500, 3, (0.2, 0.3, 0.5)), counted(500, 3, (0.2, 0.3, 0.5), parts=7)
    assert as_json(whole) == as_json(parts)
    assert as_json(from_json(json.loads(json.dumps(as_json(whole))), len(whole.labels))) == as_json(whole)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"labels": [250, 250]}, "not the counts of 3 labels"),
        ({"energy": [500]}, "and of 1000 values"),
        ({"energy": [501] + [0] * (FINE - 1)}, "of different texts"),
        ({"labels": [501, 0, 0]}, "of different texts"),
        ({"foreign": 501}, "of different texts"),
        ({"labels": [0] * 3, "confidence": [0] * FINE, "energy": [0] * FINE, "foreign": 0}, "or of none"),
        ({"low": 1.0, "high": 0.5}, "low is above high"),
    ],
)
def test_counts_that_no_texts_can_have_are_refused(changed: dict[str, Any], words: str) -> None:
    """A damaged file would give a wrong comparison."""
    with pytest.raises(ValueError, match=words):
        from_json(as_json(counted(500, 3, (0.2, 0.3, 0.5))) | changed, 3)


def test_one_single_value_is_no_error() -> None:
    counts = AnswerCounts.empty(3, 1.0, 1.0)
    counts.add(np.array([0]), np.array([1.0]), np.array([1.0]))
    found = drift(counts, counts, NAMES)
    assert found["psi"] == 0
    assert found["foreign"] is None
    assert found["confidence"]["mean"]["pool"] == pytest.approx(0.9995), "the middle of the last of 1000 bins"
    assert as_json(from_json(as_json(counts), 3)) == as_json(counts)
