"""The table of sizes and speeds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from alloykit.serving.predictor import Predictor
from alloykit.stages import model_sizes

TEXTS = [f"where is parcel {i}" for i in range(32)]


@pytest.mark.parametrize(("seconds", "rounds"), [(2.0, 2), (5.0, 1)])
def test_a_slow_model_reads_the_texts_once(
    seconds: float, rounds: int, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(i * seconds for i in range(100))
    monkeypatch.setattr(model_sizes, "time", SimpleNamespace(perf_counter=lambda: next(looks)))
    reader, read = Predictor.load(models["billing"], device="cpu"), []
    reader.model.register_forward_pre_hook(lambda *_, **kwargs: read.append(1))
    found = model_sizes.size_and_speed(reader, {"text": TEXTS})
    assert len(read) == 2 * rounds, "two batches"
    assert found["texts_per_second"] == pytest.approx(32 / seconds)
    assert found["parameters"] == sum(p.numel() for p in reader.model.parameters())
