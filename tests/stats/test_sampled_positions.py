"""Positions that are drawn differ, come from everywhere, and are the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from alloykit.stats.sampled_positions import sampled_positions


@pytest.mark.parametrize("n", [0, 5, 100, 10**9])
def test_drawn_positions(n: int) -> None:
    found = sampled_positions(n, 60, seed=1)
    assert len(found) == min(n, 60)
    assert len(set(found.tolist())) == len(found)
    assert all(0 <= i < n for i in found.tolist())
    np.testing.assert_array_equal(found, sampled_positions(n, 60, seed=1))
    if n > 5:
        assert found.tolist() != sampled_positions(n, 60, seed=2).tolist()
        assert found.tolist() != sorted(found.tolist())
        assert n / 3 < found.mean() < 2 * n / 3


def test_all_is_drawn_where_most_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alloykit.stats.sampled_positions.FEW", 10)
    assert sorted(sampled_positions(100, 90).tolist()) != list(range(90))
    assert len(set(sampled_positions(100, 90).tolist())) == 90
    assert len(set(sampled_positions(100, 12).tolist())) == 12
