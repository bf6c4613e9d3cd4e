"""What changed from one student to another, by hand."""

from __future__ import annotations

import numpy as np
from scipy import stats

from alloykit.evaluation.label_changes import changes_on_pool, changes_on_test
from alloykit.evaluation.significance import holm, interval

TRUTH = ["a"] * 20 + ["b"] * 20 + ["c"] * 4
OLD = ["a"] * 20 + ["b"] * 5 + ["a"] * 15 + ["a"] * 4
NEW = ["a"] * 8 + ["b"] * 12 + ["b"] * 20 + ["c"] * 4


def test_labels_that_are_worse_better_and_new() -> None:
    found = changes_on_test(OLD, NEW, TRUTH, ["a", "b", "c", "d"], ["a", "b"])
    p = [stats.binomtest(k, k, 0.5).pvalue for k in (12, 15, 4)]
    assert [found["labels"][label]["p_holm"] for label in "abc"] == holm(p)
    assert [(row["old"], row["new"], row["change"]) for row in found["labels"].values()] == [
        (1.0, 0.4, "worse"),
        (0.25, 1.0, "better"),
        (0.0, 1.0, "new label"),
    ]
    assert found["regressed"] == ["a"]
    assert found["improved"] == ["b"]
    assert found["untested"] == ["d"]
    assert found["overall"]["old"] == 25 / 44
    assert found["overall"]["new"] == 32 / 44
    a = found["labels"]["a"]
    assert a["low"] < a["difference"] == -0.6 < a["high"] < 0
    assert a["precision_old"] == 20 / 39
    assert a["precision_new"] == 1.0


def test_equal_students_change_nothing() -> None:
    found = changes_on_test(OLD, OLD, TRUTH, ["a", "b", "c"], ["a", "b", "c"])
    assert found["regressed"] == found["improved"] == []
    assert {row["change"] for row in found["labels"].values()} == {"no significant difference"}


def test_without_labels_the_answers_are_counted() -> None:
    found = changes_on_pool(OLD, NEW, ["a", "b", "c"], ["a", "b", "gone"])
    assert found["same"] == 13 / 44
    assert {label: (row["old"], row["new"], row["change"]) for label, row in found["labels"].items()} == {
        "a": (39, 8, ""),
        "b": (5, 32, ""),
        "c": (0, 4, "new label"),
        "gone": (0, 0, "no longer a label"),
    }
    assert found["labels"]["a"]["same"] == 8 / 39
    assert found["labels"]["a"]["interval"] == interval(np.arange(39) < 8)
    assert found["labels"]["c"]["same"] is found["labels"]["c"]["interval"] is None
