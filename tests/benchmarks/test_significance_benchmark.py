"""The simulation behind "certain": its experiments are what they say they are, and its chosen interval is the library's."""

from __future__ import annotations

from itertools import product
from statistics import mean, stdev

import numpy as np
import pytest

from alloykit.evaluation.significance import mcnemar, paired_interval
from benchmarks.significance.candidates import CANDIDATES, CHOSEN, Moments, bootstraps_exclude
from benchmarks.significance.coverage import KINDS, ONE_SEED_WAYS, _one_seed, gains, latent


def experiments(
    count: int, seeds: int, texts: int, spread: float, true: float = 0.0, kind: str = "median"
) -> np.ndarray:
    rng = np.random.default_rng(0)
    return gains(rng, *latent(rng, count, seeds, texts, KINDS[kind]), spread, true)


@pytest.mark.parametrize(("seeds", "spread"), [(2, 0.0), (3, 0.05), (5, 0.1)])
def test_the_chosen_interval_is_the_library_s(seeds: int, spread: float) -> None:
    gain = experiments(20, seeds, 150, spread)
    half = CANDIDATES[CHOSEN](Moments.of(gain))
    for one, expected in zip(gain, half, strict=True):
        found = paired_interval(one > 0, one < 0)
        assert found["high"] - found["difference"] == pytest.approx(expected, rel=1e-5)


def test_moments_are_those_of_loops() -> None:
    (gain,) = experiments(1, 3, 40, 0.05)
    m = Moments.of(gain[None])
    by_seed = [mean(map(float, row)) for row in gain]
    by_text = [mean(map(float, column)) for column in gain.T]
    d = mean(by_seed)
    rest = sum((gain[s, t] - by_seed[s] - by_text[t] + d) ** 2 for s, t in product(range(3), range(40)))
    assert m.difference[0] == pytest.approx(d)
    assert m.seeds[0] == pytest.approx(stdev(by_seed) ** 2 / 3)
    assert m.texts[0] == pytest.approx(stdev([*by_text, 1.0, -1.0]) ** 2 / 42, rel=1e-5)
    assert m.rest[0] == pytest.approx(rest / (2 * 39) / (3 * 40), rel=1e-4)


def test_experiments_have_the_spread_and_the_difference_that_were_asked_for() -> None:
    """1,500 seeds of one experiment over 500 texts: their texts are chance, which the mean over experiments removes."""
    each = np.concatenate([experiments(6, 250, 500, 0.06, 0.04).mean(2)])
    assert each.mean() == pytest.approx(0.04, abs=0.02)
    assert each.std(axis=1, ddof=1).mean() == pytest.approx(0.06, rel=0.08)
    still = experiments(6, 250, 500, 0.0).mean(2)
    assert still.std(axis=1, ddof=1).mean() < 0.02


def test_one_seed_adds_up_all_outcomes() -> None:
    """On 5 texts, by going through every gain of every text."""
    share, wrong = 0.2, dict.fromkeys(ONE_SEED_WAYS, 0.0)
    for gain in product((-1, 0, 1), repeat=5):
        x = np.array(gain)
        chance = float(np.prod(np.where(x == 0, 1 - share, share / 2)))
        found = paired_interval(x > 0, x < 0)
        wrong[ONE_SEED_WAYS[0]] += chance * (found["low"] > 0 or found["high"] < 0)
        wrong[ONE_SEED_WAYS[2]] += chance * (mcnemar(x > 0, x < 0) < 0.05)
    table = _one_seed(5, share)
    for way in (ONE_SEED_WAYS[0], ONE_SEED_WAYS[2]):
        assert table[way] == pytest.approx(wrong[way], abs=1e-4)


def test_bootstraps_see_what_is_plain() -> None:
    rng = np.random.default_rng(1)
    always = np.ones((3, 50), np.int8)
    assert all(bootstraps_exclude(np.where(rng.random((3, 50)) < 0.9, always, 0).astype(np.int8), rng).values())
    assert not any(bootstraps_exclude(np.tile(np.array([1, -1], np.int8), (3, 25)), rng).values())
