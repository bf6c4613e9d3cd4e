"""The learning rate over the steps, and the training of one step."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_training import logged, run


@pytest.mark.parametrize(("epochs", "rates"), [(1, [1.0]), (3, [0.0, 1.0, 0.5])])
def test_the_rate_rises_and_falls(epochs: int, rates: list[float], quiet_encoder: Path, tmp_path: Path) -> None:
    """A single step has the whole rate: with the first rate of the warm-up, 0, it would change nothing."""
    options = {"n": 30, "batch_size": 32, "warmup": 0.1, "scheduler": "linear", "learning_rate": 1.0}
    _, fitted = run({"name": "vanilla_kd"}, quiet_encoder, tmp_path, epochs=epochs, **options)  # type: ignore[arg-type]
    assert logged(fitted, "learning_rate") == rates
