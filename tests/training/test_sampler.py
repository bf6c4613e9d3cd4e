"""Texts of a batch are of similar length; every text comes once an epoch; epochs differ and can be repeated."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.training.sampler import LengthSampler


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(1, 16), st.integers(0, 5), st.integers(0, 3))
def test_every_text_comes_once_whatever_the_epoch(lengths: list[int], size: int, seed: int, epoch: int) -> None:
    sampler = LengthSampler(lengths, size, seed)
    sampler.set_epoch(epoch)
    order = list(sampler)
    assert sorted(order) == list(range(len(lengths)))
    assert order == list(sampler)
    assert len(sampler) == len(order)


@pytest.mark.parametrize("n", [33, 40, 101])
def test_many_texts_are_shuffled_in_parts(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FEW": 32, "BLOCK": 4, "BLOCKS": 3}.items():
        monkeypatch.setattr(f"alloykit.training.sampler.{name}", value)
    lengths = np.random.default_rng(0).integers(1, 60, n)
    sampler = LengthSampler(lengths, 5, 0)
    order = list(sampler)
    assert sorted(order) == list(range(n))
    assert order == list(sampler)
    first = order[:5]  # of the first three blocks
    assert len({i // 4 for i in first}) <= 3
    sampler.set_epoch(1)
    assert list(sampler) != order


def test_epochs_and_seeds_differ() -> None:
    lengths = [len(t.split()) for t in tiny.texts(200)]
    sampler = LengthSampler(lengths, 8, 0)
    first = list(sampler)
    sampler.set_epoch(1)
    second = list(sampler)
    assert second != first
    assert list(LengthSampler(lengths, 8, 1)) not in (first, second)


def test_padding_is_a_fraction_of_what_random_batches_waste() -> None:
    lengths = torch.randint(3, 60, (640,), generator=torch.Generator().manual_seed(0)).tolist()

    def computed(order: list[int]) -> int:
        return sum(max(lengths[i] for i in order[n : n + 32]) * 32 for n in range(0, 640, 32))

    grouped, ragged = computed(list(LengthSampler(lengths, 32, 0))), computed(list(range(640)))
    wasted = [n - sum(lengths) for n in (grouped, ragged)]
    assert wasted[0] < 0.15 * wasted[1]


def test_long_and_short_batches_come_mixed() -> None:
    lengths = list(range(1, 321))
    order = list(LengthSampler(lengths, 32, 0))
    means = [sum(lengths[i] for i in order[n : n + 32]) / 32 for n in range(0, 320, 32)]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)
