"""Whose a real text is: how it is counted, and what a teacher of twice the width is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from alloykit.outputs import Rows, TeacherRows
from benchmarks.stratanet.owners import Doubled, _balanced


def test_every_teacher_s_texts_count_the_same() -> None:
    """Three texts of the first teacher, one of the second, one of both: the first gets 3 of 4, the second 1 of 2."""
    knows = torch.tensor([[1, 1, 1, 0, 1], [0, 0, 0, 1, 1]]).bool()
    routed = torch.tensor([0, 0, 1, 0, 1])
    assert _balanced(routed, knows) == pytest.approx((3 / 4 + 1 / 2) / 2)


class Two:
    def __len__(self) -> int:
        return 6

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        states = torch.arange(24.0).reshape(6, 4)[torch.as_tensor(indices)]
        return Rows(tuple(TeacherRows(states[:, :2], pooled_states=(states, 2 * states)) for _ in range(2)))


def test_the_second_teacher_alone_has_states_of_twice_the_width() -> None:
    source = Doubled(Two())
    first, second = source.rows([1, 4]).teachers
    assert len(source) == 6
    assert first.pooled_states is not None
    assert second.pooled_states is not None
    assert [tuple(s.shape) for s in first.pooled_states] == [(2, 4)] * 2
    assert [tuple(s.shape) for s in second.pooled_states] == [(2, 8)] * 2
    for wide, narrow in zip(second.pooled_states, first.pooled_states, strict=True):
        assert torch.equal(wide[:, :4], narrow)
        assert 0 < float((wide[:, 4:] - narrow).std()) < 0.05 * float(narrow.std())
