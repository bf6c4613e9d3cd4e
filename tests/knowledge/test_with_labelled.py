"""Labelled texts behind the pool: each position has the outputs of its own text, and only labelled texts have a given label."""

from __future__ import annotations

import pytest
import torch
from random_rows import Pool, rows_of

from alloykit.knowledge.store.with_labelled import WithLabelled
from alloykit.outputs import Rows
from alloykit.testing.rows import unanswered

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
        assert int(found.given[k]) == (-1 if at < 7 else int(LABELS[at - 7]))


@pytest.mark.parametrize("partly", ["pool", "labelled"])
def test_a_teacher_without_an_answer_to_some_texts_of_one_part(partly: str) -> None:
    """It has an answer to every text of the other part."""
    answered = {"pool": torch.ones(7, 3).bool(), "labelled": torch.ones(4, 3).bool()}
    answered[partly][1, 2] = False
    parts = {"pool": POOL, "labelled": LABELLED}
    parts[partly] = unanswered(parts[partly], answered[partly])
    source = WithLabelled(Pool(parts["pool"]), Pool(parts["labelled"]), LABELS)
    found = source.rows(torch.arange(10, -1, -1)).answered()
    assert found is not None
    assert torch.equal(found, torch.cat([answered["pool"], answered["labelled"]]).flip(0))


def test_several_labels_are_given() -> None:
    """A row of −1 for the pool's texts."""
    labels = torch.eye(4, 10).bool()
    given = WithLabelled(Pool(POOL), Pool(LABELLED), labels).rows([8, 0]).given
    assert given is not None
    assert torch.equal(given, torch.stack([labels[1].long(), torch.full((10,), -1)]))
