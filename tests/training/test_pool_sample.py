"""Which texts of the pool a student is asked about: those that it did not learn from, and random others."""

from __future__ import annotations

import numpy as np
import pytest

from alloykit.training import pool_sample as module
from alloykit.training.dataset import split_held_out
from alloykit.training.pool_sample import pool_sample
from alloykit.training.training_options import TrainingOptions

OPTIONS = TrainingOptions(held_out=0.1, seed=3)


@pytest.mark.parametrize(("n", "asked"), [(600, 200), (600, 600), (600, 5000), (3, 5)])
def test_all_held_out_texts_and_random_others(n: int, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASKED", asked)
    positions, unseen = pool_sample(n, OPTIONS)
    assert positions.tolist() == sorted({*positions.tolist()})
    assert len(positions) == min(n, asked)
    assert 0 <= positions[0] <= positions[-1] < n
    held_out = split_held_out(n, OPTIONS.held_out, OPTIONS.seed)[1]
    np.testing.assert_array_equal(positions[unseen], held_out)
    np.testing.assert_array_equal(pool_sample(n, OPTIONS)[0], positions)


@pytest.mark.parametrize("select", ["last", "labelled"])
def test_without_held_out_texts_the_student_learned_from_all(select: str) -> None:
    positions, unseen = pool_sample(6_000, OPTIONS.model_copy(update={"select": select}))
    assert len(positions) == 5_000
    assert not unseen.any()


def test_the_texts_are_those_of_earlier_versions() -> None:
    """Their figures could not be compared otherwise."""
    assert pool_sample(10**6, OPTIONS)[0][:5].tolist() == [95, 1025, 1148, 1172, 1490]
