"""Labelled texts behind the pool: each position has the outputs of its own text, and only labelled texts have a given label."""

from __future__ import annotations

import pytest
import torch
from random_rows import Pool, rows_of

from alloykit.knowledge.store.with_labelled import UNKNOWN, WithLabelled
from alloykit.outputs import Rows

POOL, LABELLED = rows_of("disjoint", 7, seed=0), rows_of("disjoint", 4, seed=1)
LABELS = torch.tensor([2, 0, 1, 2])


@pytest.mark.parametrize("order", [[8, 0, 10, 3, 7, 6], [1, 2], [9, 7], [5], list(range(11))], ids=str)
def test_every_position_has_its_own_outputs(order: list[int]) -> None:
    source = WithLabelled(Pool(POOL), Pool(LABELLED), LABELS)
    assert len(source) == 11
    found = Rows.from_batch(source.rows(torch.tensor(order)).to_batch())
    assert found.labels is None, "the labels of the pool are not shown"
    assert found.given is not None
    for k, at in enumerate(order):
        rows, position = (POOL, at) if at < 7 else (LABELLED, at - 7)
        for teacher, wanted in zip(found.teachers, rows.teachers, strict=True):
            assert torch.equal(teacher.logits[k], wanted.logits[position])
            assert torch.equal(teacher.probability_sum[k], wanted.probability_sum[position])
        assert int(found.given[k]) == (UNKNOWN if at < 7 else int(LABELS[at - 7]))
