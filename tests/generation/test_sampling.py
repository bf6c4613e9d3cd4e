"""The bounds of top-k and of the nucleus, in sampling and in what the teacher reads."""

from __future__ import annotations

import math
from typing import Any

import torch

from alloykit.generation.sampling import Sampling, nucleus
from alloykit.generation.steering import Steering

HALVES = torch.tensor([[0.0, 0.0, -math.inf, -math.inf, -math.inf]])


def test_the_nucleus_is_the_fewest_tokens_that_have_the_probability_together() -> None:
    assert nucleus(HALVES, 0.5).isfinite().sum() == 1
    assert nucleus(HALVES, 0.51).isfinite().sum() == 2


def test_the_teacher_reads_the_fewest_tokens_that_have_the_probability_together() -> None:
    class Words:
        def batch_decode(self, rows: list[list[int]], **_: Any) -> list[str]:
            return [str(row) for row in rows]

    read: list[int] = []

    def score(texts: Any) -> torch.Tensor:
        read.append(len(texts))
        return torch.zeros(len(texts), 1)

    for top_p in (0.5, 0.51):
        steering = Steering(
            Words(), score, torch.tensor([0]), candidates=4, strength=1.0, every=1, prompt=1, top_p=top_p
        )
        steering(torch.full((1, 2), 7), HALVES)
    assert read == [1, 2]


def test_more_than_the_vocabulary_is_all_of_it() -> None:
    scores = torch.randn(2, 40, generator=torch.Generator().manual_seed(0))
    assert torch.equal(Sampling(1.0, 100, 1.0)(torch.zeros(2, 1), scores), scores)
