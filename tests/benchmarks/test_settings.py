"""Which teacher knows which labels."""

from __future__ import annotations

import pytest

from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, dealt, overlapping, split


def groups(setting: Setting) -> set[frozenset[str]]:
    return {frozenset(t.labels) for t in setting.teachers}


def test_deals_are_evenly_sized_differ_and_are_the_same_every_time() -> None:
    every = [dealt("banking77", 10, deal) for deal in (1, 2, 3)]
    for setting in every:
        assert sorted(len(t.labels) for t in setting.teachers) == [7] * 3 + [8] * 7
        assert sorted(label for t in setting.teachers for label in t.labels) == sorted(SETS["banking77"].labels)
    assert len({frozenset(groups(s)) for s in (*every, split("banking77", 10))}) == 4
    assert dealt("banking77", 10, 2) == every[1]
    assert every[1].name == "banking77-deal2"
    assert dealt("banking77", 3, 1, name="other", title="Other").name == "other"


def test_the_deals_of_ag_news_are_its_two_other_pairs() -> None:
    pairs = [groups(dealt("ag_news", 2, deal)) for deal in (1, 2)]
    assert [groups(split("ag_news", 2)), *pairs] == [
        {frozenset({"World", "Sports"}), frozenset({"Business", "Sci/Tech"})},
        *sorted(pairs, key=pairs.index),
    ]
    assert len({frozenset(p) for p in pairs}) == 2
    assert groups(split("ag_news", 2)) not in pairs
    with pytest.raises(ValueError, match="at least 3 deals of the labels of ag_news to 2 teachers; got 2"):
        dealt("ag_news", 2, 3)


def test_overlapping_teachers_know_a_quarter_of_the_next_ones_labels() -> None:
    own = split("stackoverflow20", 4).teachers
    both = overlapping("stackoverflow20", 4).teachers
    for i, (mine, wide) in enumerate(zip(own, both, strict=True)):
        following = own[(i + 1) % 4].labels
        assert wide.labels == (*mine.labels, following[0])
    wide = overlapping("banking77", 3)
    assert [len(t.labels) for t in wide.teachers] == [25 + 6, 25 + 7, 27 + 6]
    assert wide.space.overlapping
    assert wide.space.size == 77


@pytest.mark.parametrize("name", ["banking77", "stackoverflow20"])
def test_the_order_by_topic_has_all_labels(name: str) -> None:
    assert sorted(SETS[name].order) == sorted(SETS[name].labels)
