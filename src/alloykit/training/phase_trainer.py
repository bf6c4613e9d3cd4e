"""transformers' Trainer, adapted: exact accumulation, batches of similar length, checks per text, a hook after each step."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import EvalPrediction, Trainer, TrainerCallback

from alloykit import processes
from alloykit.file_errors import os_error
from alloykit.methods.protocol import Method, Step
from alloykit.models.tokens import pad
from alloykit.out_of_memory import is_out_of_memory
from alloykit.outputs import Rows
from alloykit.stats.sampled_positions import sampled_positions
from alloykit.training.checkpoints import mark_complete
from alloykit.training.dataset import Collator, Tokens
from alloykit.training.sampler import LengthSampler
from alloykit.training.save_timer import SaveTimer
from alloykit.training.shares import SharedLoader, ShareOfBatches

VALIDATION_TEXTS, VALIDATION_BATCH = 256, 64  # of `Step.validation_accuracy`
Validation = tuple[Tokens, Tensor]
"""Labelled validation texts: the student's tokens, and labels [n] int64."""


class PhaseTrainer(Trainer):
    """A Trainer that weighs every text of an accumulated step the same, and keeps the loss of each single text in checks."""

    data_collator: Any
    check_collator: Collator | None = None
    labelled = False
    learns_after_steps = False
    validation: Validation | None = None
    save_timer: SaveTimer

    def prepare_for(
        self,
        method: Method,
        check_collator: Collator,
        validation: Validation | None,
        save_timer: SaveTimer,
        *,
        labelled: bool,
    ) -> None:
        """What the method needs. check_collator: for checks. labelled: checks measure accuracy instead of the method's loss."""
        self.validation, self.save_timer = validation, save_timer
        # `compute_loss` below divides already: the Trainer must not divide by the accumulation steps.
        self.model_accepts_loss_kwargs = True
        self.learns_after_steps = type(method).after_step is not Method.after_step
        self.check_collator, self.labelled = check_collator, labelled

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthSampler:
        dataset = train_dataset if train_dataset is not None else self.train_dataset
        step = self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps
        return LengthSampler(dataset.lengths, step * self.args.world_size, self.args.seed)

    def get_train_dataloader(self) -> Any:
        if self.args.world_size == 1:
            return super().get_train_dataloader()
        # accelerate would repeat texts until the last batches of all processes are equally large.
        args, whole = self.args, self._get_train_sampler()
        batches = ShareOfBatches(whole, args.per_device_train_batch_size, args.process_index, args.world_size)
        return SharedLoader(
            self.train_dataset, batches, self.data_collator, pin_memory=args.dataloader_pin_memory
        )  # fmt: skip

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: Any) -> Any:
        self._batches: list[dict[str, Any]] = []
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        texts = torch.tensor(sum(batch.get("counted", len(batch["row"])) for batch in batches), device=device)
        return batches, self.accelerator.gather(texts).sum()

    def compute_loss(
        self, model: nn.Module, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        counted = inputs.pop("counted", len(inputs["row"]))
        outputs = model(**inputs)
        loss = outputs["loss"]
        if num_items_in_batch is not None:
            # The mean over all texts of the step, on all devices: DDP averages over them.
            loss = loss * counted * self.accelerator.num_processes / num_items_in_batch
        if model.training and self.learns_after_steps:
            self._batches.append(inputs)
        return (loss, outputs) if return_outputs else loss

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        self.save_timer.begin()
        try:
            super()._save_checkpoint(*args, **kwargs)
        # Torch's writer raises RuntimeError, whatever the reason.
        except (OSError, SafetensorError, RuntimeError) as error:
            if is_out_of_memory(error) or processes.is_lost_connection(error):
                raise
            raise os_error(error, str(self.args.output_dir), what="checkpoints") from error

    def _save_rng_state(self, output_dir: str) -> None:
        """Process 0 writes the files of all processes."""
        if self.args.world_size == 1:
            super()._save_rng_state(output_dir)
            return
        with tempfile.TemporaryDirectory() as place:
            super()._save_rng_state(place)
            files = processes.gathered({file.name: file.read_bytes() for file in Path(place).iterdir()})
        if self.args.should_save:
            for name, content in (item for found in files for item in found.items()):
                Path(output_dir, name).write_bytes(content)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        training_collator = self.data_collator
        self.data_collator = self.check_collator or training_collator
        try:
            return super().get_eval_dataloader(eval_dataset)
        finally:
            self.data_collator = training_collator

    def prediction_step(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        inputs = self._prepare_inputs(inputs)
        with torch.no_grad():
            out = model(**inputs)
        values = out["per_text"]
        if self.labelled:
            method = self.accelerator.unwrap_model(model).method
            values = method.correct(out["logits"], Rows.from_batch(inputs["rows"]))
        return out["loss"], values, inputs["row"]

    def after_step(self) -> None:
        """Call the method's `after_step` with the batches of this step."""
        if not self.learns_after_steps:
            return
        model, step, args = self.accelerator.unwrap_model(self.model), self.state.global_step, self.args
        texts = args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size
        epoch = math.ceil(len(self.train_dataset) / texts)  # type: ignore[arg-type]
        with torch.no_grad(), torch.autocast(args.device.type, torch.bfloat16, enabled=args.bf16):
            model.method.after_step(
                Step(
                    student=model.student,
                    modules=model.modules_of_method,
                    batches=tuple(self._batches),
                    rows=tuple(Rows.from_batch(batch["rows"]) for batch in self._batches),
                    context=model.context,
                    phase=model.phase,
                    eval_logits=model.eval_logits,
                    validation_accuracy=self._validation_accuracy,
                    log=lambda values: self.log({str(key): float(value) for key, value in values.items()}),
                    logs=step % int(args.logging_steps) == 0,
                    last_of_epoch=step % epoch == 0 or step == args.max_steps,
                )
            )

    def _validation_accuracy(self) -> float:
        """The student's accuracy on at most 256 validation texts. They are drawn at random, because the order of a file can say something of the
        labels; they are always the same."""
        if self.validation is None:
            raise TypeError("this method needs labelled validation texts")
        model, (tokens, labels) = self.accelerator.unwrap_model(self.model), self.validation
        correct, at = 0, sampled_positions(len(tokens), VALIDATION_TEXTS).tolist()
        for start in range(0, len(at), VALIDATION_BATCH):
            rows = at[start : start + VALIDATION_BATCH]
            batch = self._prepare_inputs(pad(self.check_collator.tokenizer, [tokens[i] for i in rows]))  # type: ignore[union-attr]
            correct += int((model.eval_logits(batch).argmax(-1).cpu() == labels[rows]).sum())
        return correct / len(at)


class TrainingProgress(TrainerCallback):
    """Advances the progress bar, calls the method after each step, leaves out checkpoints that are not due, and marks those that are complete."""

    def __init__(self, advance: Any, trainer: PhaseTrainer) -> None:
        self.advance, self.trainer = advance, trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.trainer.after_step()
        self.advance(1)
        if control.should_save:
            # A logged mean must not include steps before the checkpoint: a resumed run does not have them. Steps without a
            # checkpoint are logged too, so that the history does not depend on the time.
            control.should_log = True
            control.should_save = self.trainer.save_timer.due()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            mark_complete(Path(args.output_dir) / f"checkpoint-{state.global_step}", state.global_step)
        self.trainer.save_timer.end()


def check_metrics(prediction: EvalPrediction) -> dict[str, float]:
    """Mean and standard error of the criterion over the held-out texts."""
    values = np.asarray(prediction.predictions, dtype=np.float64)
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return {"criterion": float(values.mean()), "standard_error": float(error)}
