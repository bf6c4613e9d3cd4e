"""What of a recipe reaches the Trainer, how phases are counted on, and when it checks, logs and saves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from small_training import logged, run
from torch import Tensor
from transformers import Trainer, TrainerCallback

from alloykit.losses.kl import kl
from alloykit.methods.ensemble import ensemble_logits
from alloykit.methods.protocol import Context, LossInputs, Method, Phase, Supervision, uniform_weights
from alloykit.outputs import Rows
from alloykit.training import trainer as module
from alloykit.training.phase_trainer import PhaseTrainer
from alloykit.training.save_timer import SaveTimer
from alloykit.training.shares import PADDING, _Counting, _Padded


class TwoPhases(Method):
    """Phases with rates of their own; the second one has no checks."""

    name, title, reference = "two_phases", "Two phases", "a test"

    def phases(self) -> tuple[Phase, ...]:
        return Phase("one", learning_rate=0.01), Phase("two", learning_rate=0.001, select="last")

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        targets = ensemble_logits(rows, context.space).softmax(-1)
        return Supervision(targets, uniform_weights(targets))

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        assert inputs.target is not None
        return {"kl": kl(inputs.target.targets, inputs.student.logits)}


def test_phases_have_their_own_rates_and_checks_and_their_steps_are_counted_on(
    quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three steps with checks every two, the last one is checked too."""
    begun: list[int] = []

    class Steps(TrainerCallback):
        def begin_phase(self, steps: int) -> None:
            begun.append(steps)

    train = module.train
    monkeypatch.setattr("small_training.train", lambda *parts: train(*parts, tracker=cast(Any, Steps())))
    options = {"n": 30, "checks": 6, "batch_size": 8, "epochs": 1, "check_every": 2, "select": "unlabelled"}
    _, fitted = run(TwoPhases(Method.Options()), quiet_encoder, tmp_path, **options)  # type: ignore[arg-type]
    assert begun == [0, 3]
    assert fitted.steps == fitted.selected_step == 6
    assert [(entry["phase"], entry["step"]) for entry in fitted.history if "loss" in entry] == [
        ("one", 1), ("one", 2), ("one", 3), ("two", 4), ("two", 5), ("two", 6),
    ]  # fmt: skip
    assert logged(fitted, "learning_rate") == [0.01] * 3 + [0.001] * 3
    assert [entry["step"] for entry in fitted.history if "eval_criterion" in entry] == [2, 3]
    assert not logged(fitted, "train_runtime"), "a mean over steps of which a resumed run does not know all"


def test_settings_of_the_recipe_reach_the_trainer(
    quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, seen = module.TrainingArguments, list[dict[str, Any]]()
    monkeypatch.setattr(module, "TrainingArguments", lambda **given: seen.append(given) or made(**given))
    given = {"weight_decay": 0.25, "max_grad_norm": 3.0, "seed": 7, "accumulate": 2}
    options = {"n": 30, "batch_size": 3, "epochs": 2, "warmup": 0.25, "scheduler": "cosine", **given}
    run({"name": "vanilla_kd"}, quiet_encoder, tmp_path, **options)  # type: ignore[arg-type]
    wanted = {
        "weight_decay": 0.25, "max_grad_norm": 3.0, "seed": 7, "data_seed": 7, "gradient_accumulation_steps": 2,
        "per_device_train_batch_size": 3, "per_device_eval_batch_size": 64, "max_steps": 10, "warmup_steps": 3,
        "lr_scheduler_type": "cosine", "learning_rate": 1e-3, "save_total_limit": 2, "eval_strategy": "no",
    }  # fmt: skip
    assert {name: seen[0][name] for name in wanted} == wanted


def test_steps_of_checkpoints_are_logged_and_their_writing_is_timed(
    quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 steps every second one is logged. A resumed run does not know the losses before its checkpoint, so that a mean must begin there."""
    timed: list[str] = []
    monkeypatch.setattr(SaveTimer, "begin", lambda timer: timed.append("begin"))
    monkeypatch.setattr(SaveTimer, "end", lambda timer: timed.append("end"))
    options = {"n": 10, "batch_size": 1, "epochs": 4, "check_every": 25, "save_every_seconds": 0}
    _, fitted = run({"name": "vanilla_kd"}, quiet_encoder, tmp_path, **options)  # type: ignore[arg-type]
    steps = [entry["step"] for entry in fitted.history if "loss" in entry]
    assert steps == sorted({*range(2, 41, 2), 25})
    assert timed == ["begin", "end"] * 2


def test_memory_that_runs_out_while_a_checkpoint_is_saved_is_no_error_of_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")

    monkeypatch.setattr(Trainer, "_save_checkpoint", full)
    trainer = PhaseTrainer.__new__(PhaseTrainer)
    trainer.args, trainer.save_timer = cast(Any, SimpleNamespace(output_dir="run")), SaveTimer(0)
    with pytest.raises(torch.OutOfMemoryError):
        trainer._save_checkpoint()


def test_a_padding_text_does_not_count() -> None:
    texts = _Padded([{"row": 5}, {"row": 6}])
    batch = [texts[1], texts[PADDING]]
    assert _Counting(lambda features: {"features": list(features)})(batch) == {
        "features": [{"row": 6}, {"row": 5}], "counted": 1,
    }  # fmt: skip
