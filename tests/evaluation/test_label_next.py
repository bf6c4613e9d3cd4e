"""Which texts to label next: the usefulness by a loop, equal shares for the labels, one text of each kind."""

from __future__ import annotations

import math

import torch

from alloykit.evaluation.label_next import choose_texts, equal_shares, reason, usefulness


def test_usefulness_is_the_mean_of_two_margins_and_a_divergence() -> None:
    g = torch.Generator().manual_seed(0)
    student, target = (torch.randn(6, 4, generator=g).mul(2).softmax(-1) for _ in range(2))
    found = usefulness(student, target)
    for i in range(6):
        s, q = student[i].double().tolist(), target[i].double().tolist()
        terms = [1 - (sorted(p)[-1] - sorted(p)[-2]) for p in (s, q)]
        m = [(a + b) / 2 for a, b in zip(s, q, strict=True)]
        kl = [sum(a * math.log2(a / c) for a, c in zip(p, m, strict=True)) for p in (s, q)]
        assert abs(float(found.score[i]) - (sum(terms) + sum(kl) / 2) / 3) < 1e-9
    alone = usefulness(student, None)
    torch.testing.assert_close(alone.score, 1 - alone.student_margin)


def test_labels_share_the_texts_equally_as_far_as_they_have_any() -> None:
    assert equal_shares({0: 50, 1: 50, 2: 50}, 10) == {0: 4, 1: 3, 2: 3}
    assert equal_shares({0: 1, 1: 50, 2: 2}, 9) == {0: 1, 1: 6, 2: 2}
    assert equal_shares({0: 1, 1: 2}, 9) == {0: 1, 1: 2}


def test_one_text_of_each_kind_and_the_least_sure_one() -> None:
    """Two labels with three kinds of texts each; 40 near-duplicates of one kind have the lowest confidence of all."""
    kinds = torch.eye(6).repeat_interleave(40, 0)
    states = kinds + 0.01 * torch.randn(240, 6, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(240) // 120
    score = torch.rand(240, generator=torch.Generator().manual_seed(2)).double() * 0.1 + 0.1
    score[:40] += 0.5
    chosen = choose_texts(score, labels, states, 6)
    assert sorted(i // 40 for i in chosen) == [0, 1, 2, 3, 4, 5]
    assert chosen[0] == int(score.argmax())
    for i in chosen[:3]:
        kind = range(i // 40 * 40, i // 40 * 40 + 40)
        assert float(score[i]) == max(float(score[k]) for k in kind)
    assert chosen == choose_texts(score, labels, states, 6)


def test_equal_states_still_give_enough_texts() -> None:
    chosen = choose_texts(torch.linspace(0, 1, 9).double(), torch.zeros(9).long(), torch.ones(9, 3), 4)
    assert chosen == [8, 7, 6, 5]
    assert choose_texts(torch.ones(3).double(), torch.zeros(3).long(), torch.ones(3, 2), 10) == [0, 1, 2]


def test_the_reason_says_who_is_not_sure() -> None:
    student = torch.tensor([[0.5, 0.4, 0.1], [0.9, 0.05, 0.05], [0.98, 0.01, 0.01], [0.95, 0.03, 0.02]])
    target = torch.tensor([[0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [0.98, 0.01, 0.01], [0.02, 0.03, 0.95]])
    found, names = usefulness(student, target), ("a", "b", "c")
    said = [reason(i, found, student, target, names) for i in range(4)]
    assert said[0] == "the student hesitates between a and b; the student answers a, the teachers b"
    assert said[1] == "the teachers hesitate between a and b"
    assert said[2] == "it stands for other texts with the label a"
    assert said[3] == "the student answers a, the teachers c"
    assert reason(0, usefulness(student, None), student, None, names) == "the student hesitates between a and b"
