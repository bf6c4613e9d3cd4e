"""Accuracy, F1 and the scores of labels, by plain loops."""

from __future__ import annotations

import pytest
import torch

from alloykit.evaluation.metrics import LabelScore, label_scores, score
from alloykit.labels import LabelSpace

SPACE = LabelSpace.union([("a", "b", "c"), ("c", "d"), ("e", "f")])
TEACHERS = ["one", "two", "three"]


def counts(said: list[int], true: list[int], c: int) -> tuple[int, int, int]:
    """Hits, texts with the label, texts that got it."""
    return sum(a == b == c for a, b in zip(said, true, strict=True)), true.count(c), said.count(c)


def test_the_scores_of_a_classifier() -> None:
    """A label that two teachers know, one that no test text has but that is predicted, one that is never predicted, and a teacher without texts."""
    g = torch.Generator().manual_seed(0)
    true = torch.tensor([0, 1, 2, 3])[torch.randint(4, (60,), generator=g)].tolist()
    said = torch.tensor([0, 1, 2, 4])[torch.randint(4, (60,), generator=g)].tolist()
    found = score(torch.tensor(said), torch.tensor(true), SPACE, TEACHERS)
    right = [a == b for a, b in zip(said, true, strict=True)]
    assert found["accuracy"] == pytest.approx(sum(right) / 60)
    each = [counts(said, true, c) for c in range(4)]
    assert found["macro_f1"] == pytest.approx(sum(2 * hits / (texts + given) for hits, texts, given in each) / 4)
    for name, known in (("one", (0, 1, 2)), ("two", (2, 3))):
        mine = [r for r, y in zip(right, true, strict=True) if y in known]
        assert found["groups"][name] == pytest.approx(sum(mine) / len(mine))
    assert found["groups"]["three"] is None
    assert list(found["groups"]) == TEACHERS


def test_the_scores_of_labels() -> None:
    """Of the last three labels, one is never predicted, one has no text, and one has neither."""
    said, true = [0, 0, 1, 0, 3, 1, 0], [0, 1, 1, 0, 1, 2, 0]
    confusion = [[sum((y, z) == (a, b) for y, z in zip(true, said, strict=True)) for b in range(5)] for a in range(5)]
    assert label_scores(confusion) == [
        LabelScore(3, pytest.approx(3 / 4), 1.0, pytest.approx(6 / 7)),
        LabelScore(3, pytest.approx(1 / 2), pytest.approx(1 / 3), pytest.approx(2 / 5)),
        LabelScore(1, None, 0.0, 0.0),
        LabelScore(0, 0.0, None, 0.0),
        LabelScore(0, None, None, None),
    ]
