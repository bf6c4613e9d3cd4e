"""Which texts teachers leave to the others: compared with the sentence in knowledge/abstention.py, text by text."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.knowledge.abstention import Abstention
from alloykit.labels import LabelSpace
from alloykit.outputs import Rows, TeacherRows

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)
SETS = [("a", "b", "other"), ("c", "other", "b"), ("none", "d"), ("e", "f")]
SPACE = LabelSpace.union(SETS, catch_all=["other", "none"])


def rows_of(given: Sequence[Sequence[str | None]]) -> Rows:
    """Per text the label that each teacher gives; None: it has no answer."""
    teachers = []
    for i, labels in enumerate(SETS):
        logits = torch.tensor([[3.0 if name == text[i] else 0.0 for name in labels] for text in given])
        has_answer = torch.tensor([text[i] is not None for text in given])
        teachers.append(TeacherRows(logits, answered=None if bool(has_answer.all()) else has_answer))
    return Rows(tuple(teachers))


def leaves(i: int, text: Sequence[str | None]) -> bool:
    """Whether teacher i leaves this text to the others."""
    if text[i] not in SPACE.catch_all:
        return False
    named = [label for j, label in enumerate(text) if j != i and label is not None and label not in SPACE.catch_all]
    return any(label not in SETS[i] for label in named)


texts = st.tuples(*(st.sampled_from([*labels, None]) for labels in SETS))


@quick
@given(st.lists(texts, min_size=1, max_size=8))
def test_teachers_abstain_as_it_is_said(given: list[tuple[str | None, ...]]) -> None:
    plain = rows_of(given)
    found = Abstention(SPACE)(plain)
    for i, teacher in enumerate(found.teachers):
        expected = [leaves(i, text) for text in given]
        if i == 3:  # it has no such label
            assert teacher.abstains is None
            assert not any(expected)
        else:
            assert teacher.abstains is not None
            assert teacher.abstains.tolist() == expected
        assert teacher.answered is plain.teachers[i].answered
        assert teacher.logits is plain.teachers[i].logits
    counts = found.counts()
    assert counts is not None
    for b, text in enumerate(given):
        assert counts[b].tolist() == [label is not None and not leaves(i, text) for i, label in enumerate(text)]


def test_what_each_case_means() -> None:
    cases = {
        ("other", "c", "none", None): [False, True, False, False],  # only the second one names a label
        ("other", "other", "none", None): [True, True, True, False],  # nobody does, so all answers count
        # The first teacher knows b too: the two contradict each other
        ("other", "b", None, None): [True, True, False, False],
        ("a", "c", "none", None): [True, True, False, False],
        ("other", None, "none", "f"): [False, False, False, True],
    }
    counts = Abstention(SPACE)(rows_of(list(cases))).counts()
    assert counts is not None
    assert counts.tolist() == list(cases.values())
