"""The one module around transformers' Trainer: phases, exact accumulation, label-free checks, resuming."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn
from transformers import EvalPrediction, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback, TrainerState

from alloykit.errors import AlloyError
from alloykit.files import write_json
from alloykit.methods.base import Context, Method, Phase, Step
from alloykit.progress import bar, say
from alloykit.rows import Rows, Source
from alloykit.training.checkpoints import COMPLETE, last_complete_checkpoint
from alloykit.training.dataset import Collator
from alloykit.training.module import Amalgam
from alloykit.training.options import TrainingOptions
from alloykit.training.sampler import LengthSampler
from alloykit.training.selection import Selection


@dataclass
class Fitted:
    """What training did: losses by step, checks, and which check was taken."""

    steps: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    selected_step: int = 0


def train(
    student: Any,
    tokenizer: Any,
    method: Method,
    context: Context,
    source: Source,
    dataset: datasets.Dataset,
    checks: datasets.Dataset | None,
    options: TrainingOptions,
    folder: Path,
    *,
    check_source: Source | None = None,
    device: str = "cpu",
) -> Fitted:
    """Train `student` in place, phase by phase; leave the selected weights in it.

    `dataset`, `checks`: token ids and `row` (dataset.py), rows of `source` and of `check_source` (by default the same).
    `folder` holds checkpoints; started again after a crash, training goes on from the last complete one, with the same
    result as if it had never stopped.
    """
    collator = Collator(tokenizer, source)
    check_collator = Collator(tokenizer, check_source or source)
    modules = method.modules(context)
    fitted = Fitted()
    for phase in method.phases():
        model = Amalgam(student, method, modules, context, phase)
        _run_phase(
            model, dataset, checks, collator, check_collator, options, phase, folder / phase.name, device, fitted
        )
    student.eval()
    return fitted


def _run_phase(
    model: Amalgam,
    dataset: datasets.Dataset,
    checks: datasets.Dataset | None,
    collator: Collator,
    check_collator: Collator,
    options: TrainingOptions,
    phase: Phase,
    folder: Path,
    device: str,
    fitted: Fitted,
) -> None:
    steps_per_epoch = math.ceil(math.ceil(len(dataset) / options.batch_size) / options.accumulate)
    total = max(1, math.ceil(steps_per_epoch * (phase.epochs or options.epochs)))
    every = options.check_every or max(min(100, math.ceil(total / 3)), math.ceil(total / 20))
    rule = options.select if checks is not None and len(checks) else "last"
    args = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=options.batch_size,
        per_device_eval_batch_size=max(64, options.batch_size),
        gradient_accumulation_steps=options.accumulate,
        max_steps=total,
        learning_rate=phase.learning_rate or options.learning_rate,
        warmup_steps=math.ceil(options.warmup * total),
        weight_decay=options.weight_decay,
        max_grad_norm=options.max_grad_norm,
        lr_scheduler_type=options.scheduler,
        seed=options.seed,
        data_seed=options.seed,
        bf16=options.precision == "bfloat16",
        use_cpu=device == "cpu",
        eval_strategy="steps" if rule != "last" else "no",
        eval_steps=every if rule != "last" else None,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,
        logging_steps=max(1, min(10, total // 20)),
        report_to=options.report_to or "none",
        remove_unused_columns=False,
        disable_tqdm=True,
        dataloader_pin_memory=device != "cpu",
        label_names=["row"],
    )
    selection = Selection(folder / "checks", rule)
    trainer = PhaseTrainer(
        model=model,
        args=args,
        train_dataset=dataset,
        eval_dataset=checks,
        data_collator=collator,
        compute_metrics=summarise_checks,
        callbacks=[selection],
    )
    trainer.model_accepts_loss_kwargs = True  # our compute_loss has divided already: no division by accumulation steps
    trainer.learns_after_steps = type(model.method).after_step is not Method.after_step
    trainer.check_collator = check_collator
    trainer.labelled = rule == "labelled"
    for unwanted in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(unwanted)
    resumed = last_complete_checkpoint(folder)
    done = int(resumed.name.rsplit("-", 1)[1]) if resumed else 0
    if resumed:
        say(f"training: going on from step {done} of {total}")
    selection.resume(done)
    with bar("training" if phase.name == "train" else f"training ({phase.name})", total - done, "steps") as advance:
        trainer.add_callback(_Progress(advance, trainer))
        try:
            if resumed is not None and done >= total:  # Trainer would make one step too many
                safetensors.torch.load_model(model, resumed / "model.safetensors")
                trainer.state = TrainerState.load_from_json(str(resumed / "trainer_state.json"))
            else:
                trainer.train(resume_from_checkpoint=str(resumed) if resumed else None)
        except (OSError, SafetensorError, RuntimeError) as error:
            if (
                isinstance(error, RuntimeError)
                and "iostream" not in str(error)
                and "PytorchStreamWriter" not in str(error)
            ):
                raise
            raise AlloyError(
                expected=f"room for checkpoints in {folder}",
                got=f"'{getattr(error, 'strerror', None) or error}'",
                hint="Free some space, then run the same command again: it goes on from the last complete checkpoint.",
            ) from error
    if rule != "last" and not any(c.step == total for c in selection.checks):
        trainer.evaluate()
    if rule != "last" and not selection.checks:
        raise AlloyError(
            expected="a finite loss on the held-out texts", got="NaN at every check", hint="Lower the learning rate."
        )
    chosen = selection.restore(model).step if rule != "last" else total
    fitted.history += [{"phase": phase.name, **entry} for entry in trainer.state.log_history]
    fitted.steps += total
    fitted.selected_step = chosen


class PhaseTrainer(Trainer):
    """Trainer whose loss weighs every text of an accumulated step the same, and whose checks keep single texts' losses."""

    data_collator: Any
    check_collator: Collator | None = None
    labelled = False
    learns_after_steps = False

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthSampler:
        dataset = train_dataset if train_dataset is not None else self.train_dataset
        step = self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps
        lengths = [len(ids) for ids in dataset["input_ids"]]
        return LengthSampler(lengths, step * self.args.world_size, self.args.seed)

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> Any:
        self._batches: list[dict[str, Any]] = []
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        texts = torch.tensor(sum(len(batch["row"]) for batch in batches), device=device)
        return batches, self.accelerator.gather(texts).sum()

    def compute_loss(
        self, model: nn.Module, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        outputs = model(**inputs)
        loss = outputs["loss"]
        if (
            num_items_in_batch is not None
        ):  # the mean over all texts of the step, on all devices (DDP averages over them)
            loss = loss * len(inputs["row"]) * self.accelerator.num_processes / num_items_in_batch
        if model.training and self.learns_after_steps:
            self._batches.append(inputs)
        return (loss, outputs) if return_outputs else loss

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        mine = self.data_collator
        self.data_collator = self.check_collator or mine
        try:
            return super().get_eval_dataloader(eval_dataset)
        finally:
            self.data_collator = mine

    def prediction_step(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        inputs = self._prepare_inputs(inputs)
        with torch.no_grad():
            out = model(**inputs)
        values = out["per_text"]
        if self.labelled:
            values = (out["logits"].argmax(-1) == inputs["rows"]["labels"]).float()
        return out["loss"], values, inputs["row"]

    def after_step(self) -> None:
        """Give the method what the optimiser has just learned from."""
        if self.learns_after_steps:
            model = self.accelerator.unwrap_model(self.model)
            rows = tuple(Rows.from_batch(batch["rows"]) for batch in self._batches)
            model.method.after_step(
                Step(model.student, model.modules_of_method, tuple(self._batches), rows, model.context, model.phase)
            )


class _Progress(TrainerCallback):
    """Moves the bar, lets the method act after each step, and marks checkpoints as complete."""

    def __init__(self, advance: Any, trainer: PhaseTrainer) -> None:
        self.advance, self.trainer = advance, trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.trainer.after_step()
        self.advance(1)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            write_json(folder / COMPLETE, {"step": state.global_step})


def summarise_checks(prediction: EvalPrediction) -> dict[str, float]:
    """Mean of the criterion over the held-out texts and its standard error."""
    values = np.asarray(prediction.predictions, dtype=np.float64)
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return {"criterion": float(values.mean()), "standard_error": float(error)}
