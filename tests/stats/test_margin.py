"""The margin (Eq. 15) against a plain loop, and by hand."""

import loops
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.stats.margin import margin

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


@quick
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=5, unique=True).flatmap(
        lambda c: st.tuples(st.just(c), st.lists(st.integers(0, 3), min_size=len(c), max_size=len(c)))
    )
)
def test_margin_is_the_lead_over_the_best_teacher_that_disagrees(case):
    c, tops = case
    found = margin(torch.tensor([c], dtype=torch.float64), torch.tensor([tops]))
    assert found.item() == pytest.approx(loops.margin(c, tops), abs=1e-12)


def test_margin_by_hand():
    c = torch.tensor([[0.9, 0.7, 0.2]], dtype=torch.float64).expand(4, 3)
    tops = torch.tensor([[0, 1, 2], [0, 0, 2], [0, 0, 0], [0, 1, 0]])
    torch.testing.assert_close(margin(c, tops), torch.tensor([0.2, 0.7, 0.9, 0.2], dtype=torch.float64))
    assert margin(torch.tensor([[0.3]]), torch.tensor([[0]])).item() == 1
    tied = torch.tensor([[0.8, 0.8]])
    assert margin(tied, torch.tensor([[0, 1]])).item() == 0
    assert margin(tied, torch.tensor([[1, 1]])).item() == pytest.approx(0.8)
