"""Entropy and confidence (Eqs. 9, 13) against plain loops."""

import math

import loops
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.stats.entropy import confidence, entropy

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
vectors = st.lists(st.floats(0.01, 1), min_size=2, max_size=8).map(lambda v: [a / sum(v) for a in v])


@quick
@given(vectors)
def test_entropy_and_confidence_follow_the_formula(p):
    found = torch.tensor([p], dtype=torch.float64)
    assert entropy(found).item() == pytest.approx(loops.entropy(p), rel=1e-9, abs=1e-12)
    assert confidence(found).item() == pytest.approx(loops.confidence(p), rel=1e-9, abs=1e-12)
    assert 0 <= confidence(found).item() <= 1


def test_entropy_of_certain_and_uniform_answers():
    p = torch.tensor([[1.0, 0.0, 0.0], [1 / 3] * 3])
    torch.testing.assert_close(entropy(p), torch.tensor([0.0, math.log(3)], dtype=torch.float64), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(confidence(p), torch.tensor([1.0, 0.0], dtype=torch.float64), rtol=1e-6, atol=1e-6)


def test_normalised_entropy_is_not_comparable_between_label_counts():
    """The numbers that the warnings print: 0.9 on the top class is .53 for two labels and .82 for fifty."""
    assert confidence(torch.tensor([0.9, 0.1])).item() == pytest.approx(0.53, abs=0.005)
    assert confidence(torch.tensor([0.9] + [0.1 / 49] * 49)).item() == pytest.approx(0.82, abs=0.005)


def test_rounding_makes_no_confidence_negative():
    """Methods use it as a weight."""
    for labels in range(2, 12):
        assert confidence(torch.full((labels,), 1 / labels)) >= 0
