"""The contract of all methods, and the method's equations once more as a plain loop."""

import math

import pytest
import torch
from alloykit_confidence_vote.method import ConfidenceVote, ConfidenceVoteOptions

from alloykit.methods.protocol import Context
from alloykit.testing import check_method
from alloykit.testing.rows import random_rows, space_of


@pytest.mark.parametrize("options", [{}, {"sharpness": 20.0}, {"floor": 0.0}])
def test_it_keeps_to_the_contract(options):
    check_method(ConfidenceVote, options)


def test_targets_and_weights_from_a_plain_loop():
    rows, space = random_rows("overlapping", b=5), space_of("overlapping")
    found = ConfidenceVote(ConfidenceVoteOptions()).supervise(rows, Context(space))
    for x in range(5):
        p = [torch.softmax(t.logits[x].double(), 0).tolist() for t in rows.teachers]
        raw = [math.exp(4.0 * (max(q) - 1 / len(q)) / (1 - 1 / len(q))) for q in p]
        w = [v / sum(raw) for v in raw]
        target = [0.0] * space.size
        for i, labels in enumerate(space.teachers):
            for y, name in enumerate(labels):
                target[space.position(name)] += w[i] * p[i][y]
        first, second, _ = sorted(w, reverse=True)
        assert found.targets[x].tolist() == pytest.approx(target, rel=1e-4)
        assert float(found.weights[x]) == pytest.approx(0.1 + 0.9 * (first - second), rel=1e-3)
