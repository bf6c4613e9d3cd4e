"""Memory runs out in the middle of training: smaller batches, more of them per step, and the same student."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from small_training import logged, run
from test_accumulation import same_weights

from alloykit.errors import AlloyError
from alloykit.training.module import TrainingModule


def small_device(monkeypatch: pytest.MonkeyPatch, holds: int, after: int = 0, *, in_training: bool = True) -> list[int]:
    """Batches of more than `holds` texts fail in training, or in checks, once so many went well. Returns the sizes that were tried."""
    real, tried = TrainingModule.forward, []

    def forward(self: TrainingModule, **inputs: Any) -> Any:
        if self.training is in_training:
            tried.append(len(inputs["input_ids"]))
            if tried[-1] > holds and len(tried) > after:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return real(self, **inputs)

    monkeypatch.setattr(TrainingModule, "forward", forward)
    return tried


@pytest.mark.parametrize("after", [0, 3])
def test_the_student_is_the_same(
    after: int, quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the first step, and in the second epoch, when the weights have moved already."""
    options = {"double": True, "batch_size": 16, "check_every": 100}
    whole, one = run({"name": "muka"}, quiet_encoder, tmp_path / "one", **options)  # type: ignore[arg-type]
    tried = small_device(monkeypatch, 5, after)
    cut, other = run({"name": "muka"}, quiet_encoder, tmp_path / "cut", **options)  # type: ignore[arg-type]
    same_weights(whole, cut)
    assert other.steps == one.steps == 4
    torch.testing.assert_close(
        torch.tensor(logged(other, "loss")), torch.tensor(logged(one, "loss")), rtol=1e-4, atol=1e-6
    )
    assert max(tried[-4:]) <= 4
    said = capsys.readouterr().err
    assert "out of memory; going on with 2 batches of 8 texts per step" in said
    assert "out of memory; going on with 4 batches of 4 texts per step" in said


def test_it_goes_on_from_the_last_checkpoint(
    quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"double": True, "batch_size": 16, "check_every": 2, "save_every_seconds": 0}
    whole, _ = run({"name": "muka"}, quiet_encoder, tmp_path / "one", **options)  # type: ignore[arg-type]
    small_device(monkeypatch, 8, after=2)
    cut, _ = run({"name": "muka"}, quiet_encoder, tmp_path / "cut", **options)  # type: ignore[arg-type]
    assert "going on from step 2 of 4" in capsys.readouterr().err
    same_weights(whole, cut)


def test_one_text_too_many_is_an_error(quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_device(monkeypatch, 0)
    with pytest.raises(AlloyError, match=r"memory for batches of 1 text.*batch_size"):
        run({"name": "muka"}, quiet_encoder, tmp_path / "run", batch_size=4)


def test_a_batch_coupled_method_is_not_cut(
    quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_device(monkeypatch, 8)
    with pytest.raises(AlloyError, match=r"memory for batches of 16 texts.*'muka' cannot use smaller ones"):
        run({"name": "muka", "normalise": "batch"}, quiet_encoder, tmp_path / "run", batch_size=16)


def test_a_batch_that_halves_badly_is_cut_by_its_least_divisor(
    quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = small_device(monkeypatch, 5)
    run({"name": "muka"}, quiet_encoder, tmp_path / "run", batch_size=15)
    assert tried[:2] == [15, 5]


CHECKED: dict[str, Any] = {"n": 100, "checks": 70, "batch_size": 15, "select": "unlabelled", "check_every": 2}


def test_checks_that_are_too_large_are_cut_and_the_batches_stay(
    quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, one = run({"name": "vanilla_kd"}, quiet_encoder, tmp_path / "one", double=True, **CHECKED)
    tried = small_device(monkeypatch, 16, in_training=False)
    cut, other = run({"name": "vanilla_kd"}, quiet_encoder, tmp_path / "cut", double=True, **CHECKED)
    assert tried[:4] == [64, 32, 16, 16]
    assert "out of memory; going on with checks of 16 texts at once" in (said := capsys.readouterr().err)
    assert "batches of" not in said
    assert other.selected_step == one.selected_step
    assert logged(other, "eval_criterion") == pytest.approx(logged(one, "eval_criterion"))
    same_weights(whole, cut)


@pytest.mark.parametrize(
    ("spec", "holds", "size"),
    [({"name": "muka"}, 0, "1 text"), ({"name": "muka", "normalise": "batch"}, 16, "64 texts")],
)
def test_checks_that_cannot_be_cut(
    spec: dict[str, Any], holds: int, size: str, quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_device(monkeypatch, holds, in_training=False)
    with pytest.raises(AlloyError, match=rf"memory for checks of {size} at once; got too little. Lower .*max_length"):
        run(spec, quiet_encoder, tmp_path / "run", **CHECKED)
