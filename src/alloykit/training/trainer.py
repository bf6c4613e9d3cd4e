"""Train a student phase by phase with transformers' Trainer. Training resumes after a crash, and uses smaller batches if memory runs out."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn
from transformers import TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback, TrainerState

from alloykit import processes
from alloykit.errors import AlloyError
from alloykit.file_errors import os_error
from alloykit.methods.protocol import Context, Method, Phase
from alloykit.models.device import pick_device
from alloykit.models.primitive_cache import limit_primitive_cache
from alloykit.names import counted
from alloykit.out_of_memory import is_out_of_memory
from alloykit.precision import choose_training_precision
from alloykit.progress import bar, log_line
from alloykit.training.checkpoints import last_complete_checkpoint
from alloykit.training.dataset import Collator, Tokens
from alloykit.training.freed_memory import keep_freed_memory
from alloykit.training.module import TrainingModule
from alloykit.training.more_arguments import arguments_named, more_arguments
from alloykit.training.phase_trainer import PhaseTrainer, TrainingProgress, Validation, check_metrics
from alloykit.training.save_timer import SaveTimer
from alloykit.training.schedule import Schedule, required
from alloykit.training.selection import Selection
from alloykit.training.sharded import copy_to_shard, whole_state
from alloykit.training.shares import share_of
from alloykit.training.tracker import Tracker
from alloykit.training.training_options import TrainingOptions

CHECKED_AT_ONCE = 64  # texts; without gradients they take less memory than those of a step
OTHER_MASKS = 1_000_003  # between the seeds of two processes
PhaseDataMaker = Callable[[Phase, Any, nn.ModuleDict], tuple[Any, Any]]
"""(phase, student, the method's modules) → dataset and collator."""


@dataclass
class TrainingResult:
    """The result of training: number of steps, losses and checks by step, the selected step, and the method's trained modules."""

    steps: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    selected_step: int = 0
    modules: nn.ModuleDict = field(default_factory=nn.ModuleDict)


def train(
    student: Any,
    collator: Collator,
    method: Method,
    context: Context,
    dataset: Tokens,
    checks: Tokens | None,
    options: TrainingOptions,
    folder: Path,
    *,
    check_collator: Collator | None = None,
    validation: Validation | None = None,
    phase_data: PhaseDataMaker | None = None,
    device: str = "auto",
    tracker: Tracker | None = None,
) -> TrainingResult:
    """Train `student` in place, phase by phase. At the end it has the selected weights. AlloyError if memory is too small.

    dataset: the texts to learn from; checks: held-out texts (dataset.py: Tokens). collator, check_collator: pad their batches and add the
    teachers' outputs; the same one for both if only the first is given. validation: labelled texts for `Step.validation_accuracy`. phase_data:
    makes the data of each phase from the current student. tracker: gets the losses. folder: for checkpoints. After a crash, training resumes
    from the last complete one, with the same result as without the crash.
    """
    modules, device = method.modules(context), pick_device(device)
    if device == "cpu":
        keep_freed_memory()
        limit_primitive_cache()
    result = TrainingResult(modules=modules)
    for phase in method.phases():
        if phase_data is not None:
            dataset, collator = phase_data(phase, student, modules)
        model = TrainingModule(student, method, modules, context, phase, compiled=options.compile)
        initial = {key: value.detach().cpu().clone() for key, value in model.state_dict().items()}
        parts = dataset, checks, validation, collator, check_collator or collator
        at_once = max(CHECKED_AT_ONCE, share_of(options, processes.count()).batch_size)
        run = _PhaseRun(model, *parts, phase, folder / phase.name, device, at_once, tracker)
        if tracker is not None:
            tracker.begin_phase(result.steps)
        while True:
            try:
                with processes.connection_errors(), arguments_named(options.arguments):
                    run.train(options, result)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            if model.training:
                options = _with_smaller_batches(options, method)
            else:
                run.checked_at_once = _fewer_at_once(run.checked_at_once, method)
            model.load_state_dict(initial)  # the next attempt resumes from the last checkpoint of the failed one
    student.eval()
    return result


def _with_smaller_batches(options: TrainingOptions, method: Method) -> TrainingOptions:
    """The same optimiser steps with smaller batches and more accumulation. AlloyError for a method whose loss depends on the batch size."""
    size = options.batch_size
    if processes.count() > 1:  # the others do not know of it
        raise AlloyError(
            expected=f"memory for batches of {counted(share_of(options, processes.count()).batch_size, 'text')} in each process",
            got="too little",
            hint="Lower `training: {batch_size: …}` and raise `accumulate`, lower `max_length`, or take a smaller student.",
        )
    if size == 1 or method.batch_coupled:
        raise AlloyError(
            expected=f"memory for batches of {counted(size, 'text')}",
            got="too little"
            + (
                f", and method '{method.name}' cannot use smaller ones: its loss depends on the batch size"
                if size > 1
                else ""
            ),
            hint="Lower `training: {batch_size: …}` or `{max_length: …}`, take a smaller student, or free some memory.",
        )
    part = next(d for d in range(2, size + 1) if size % d == 0)
    log_line(
        f"training: out of memory; going on with {part * options.accumulate} batches of {size // part} texts per step"
    )
    return options.model_copy(update={"batch_size": size // part, "accumulate": options.accumulate * part})


def _fewer_at_once(size: int, method: Method) -> int:
    """How many texts a check reads at once after memory ran out with `size` of them. AlloyError if it cannot be fewer."""
    if size == 1 or method.batch_coupled or processes.count() > 1:  # the other processes do not know of it
        raise AlloyError(
            expected=f"memory for checks of {counted(size, 'text')} at once",
            got="too little",
            hint="Lower `training: {max_length: …}`, take a smaller student, or free some memory. `training: {select: last}` makes no checks.",
        )
    log_line(f"training: out of memory; going on with checks of {counted(size // 2, 'text')} at once")
    return size // 2


@dataclass
class _PhaseRun:
    """The training of one phase. `train` may be called again after a failure, and resumes from the last complete checkpoint. `checked_at_once`: texts
    that a check reads at once."""

    model: TrainingModule
    dataset: Tokens
    checks: Tokens | None
    validation: Validation | None
    collator: Collator
    check_collator: Collator
    phase: Phase
    folder: Path
    device: str
    checked_at_once: int
    tracker: Tracker | None = None

    def train(self, options: TrainingOptions, result: TrainingResult) -> None:
        schedule = Schedule.of(len(self.dataset), options, self.phase.epochs)
        wanted = self.phase.select or options.select
        total, rule = schedule.total, wanted if self.checks is not None and len(self.checks) else "last"
        args = self._arguments(options, schedule, rule)
        selection = Selection(self.folder / "checks", rule, options.tolerance)
        trained = copy_to_shard(self.model) if args.fsdp else self.model
        trainer = PhaseTrainer(
            model=trained,
            args=args,
            train_dataset=self.dataset,
            eval_dataset=self.checks,
            data_collator=self.collator,
            compute_metrics=check_metrics,
            callbacks=[selection, *([self.tracker] if self.tracker is not None else [])],
        )
        timer = SaveTimer(options.save_every_seconds)
        trainer.prepare_for(self.model.method, self.check_collator, self.validation, timer, labelled=rule == "labelled")
        for unwanted in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(unwanted)
        done = self._run(trainer, selection, total)
        if rule != "last" and not any(c.step == total for c in selection.checks):
            trainer.evaluate()
        if rule != "last" and not selection.checks:
            raise AlloyError(
                expected="a finite loss on the held-out texts",
                got="NaN or infinity at every check",
                hint="Lower the learning rate.",
            )
        if args.fsdp and rule == "last" and not done:
            self.model.load_state_dict(whole_state(trained))
        chosen = selection.restore(self.model).step if rule != "last" else total
        before = result.steps  # the numbering of steps continues through the phases
        result.history += [  # without the Trainer's summary, whose mean loss leaves out the steps before a restart
            {"phase": self.phase.name, **entry, "step": before + entry["step"]}
            for entry in trainer.state.log_history
            if "train_runtime" not in entry
        ]
        result.steps, result.selected_step = before + total, before + chosen

    def _begin(self, selection: Selection) -> Path | None:
        """The checkpoint to go on from, in every process. Process 0 removes what is damaged, before the others read anything."""
        resumed = last_complete_checkpoint(self.folder) if processes.is_first() else None
        if processes.is_first() and not selection.resume(_step_of(resumed)):
            log_line("training: files of earlier checks are damaged; training starts from the beginning")
            shutil.rmtree(self.folder)
            resumed = None
            selection.resume(0)
        told = processes.from_first(str(resumed) if resumed else "")  # text only: the others unpickle nothing else
        resumed = Path(told) if told else None
        if not processes.is_first():
            selection.resume(_step_of(resumed))
        return resumed

    def _run(self, trainer: PhaseTrainer, selection: Selection, total: int) -> bool:
        """Train. True if a checkpoint had all steps already; its weights are in the model."""
        resumed = self._begin(selection)
        done = _step_of(resumed)
        if trainer.args.process_index and resumed is None:  # each process has dropout masks of its own
            torch.manual_seed(trainer.args.seed + OTHER_MASKS * trainer.args.process_index)
        if resumed:
            log_line(f"training: going on from step {done} of {total}")
        title = "training" if self.phase.name == "train" else f"training ({self.phase.name})"
        with bar(title, total - done, "steps") as advance:
            trainer.add_callback(TrainingProgress(advance, trainer))
            try:
                if resumed is not None and done >= total:  # the Trainer would make one step too many
                    safetensors.torch.load_model(self.model, resumed / "model.safetensors")
                    trainer.state = TrainerState.load_from_json(str(resumed / "trainer_state.json"))
                    return True
                trainer.train(resume_from_checkpoint=str(resumed) if resumed else None)
                return False
            except (OSError, SafetensorError) as error:
                raise os_error(error, self.folder, what="checkpoints") from error

    def _arguments(self, options: TrainingOptions, schedule: Schedule, rule: str) -> TrainingArguments:
        options = share_of(options, processes.count())
        return TrainingArguments(
            output_dir=str(self.folder),
            per_device_train_batch_size=options.batch_size,
            per_device_eval_batch_size=self.checked_at_once,
            gradient_accumulation_steps=options.accumulate,
            max_steps=schedule.total,
            learning_rate=self.phase.learning_rate or required(options.learning_rate, "learning_rate"),
            # The first of the warm-up's steps has the rate 0, so that a single step would change nothing.
            warmup_steps=math.ceil(options.warmup * schedule.total) if schedule.total > 1 else 0,
            weight_decay=options.weight_decay,
            max_grad_norm=options.max_grad_norm,
            lr_scheduler_type=options.scheduler,
            seed=options.seed,
            data_seed=options.seed,
            bf16=choose_training_precision(options.precision, self.device, self.model.config.model_type) == "bfloat16",
            torch_compile=options.compile,
            use_cpu=self.device == "cpu",
            eval_strategy="steps" if rule != "last" else "no",
            eval_steps=schedule.every if rule != "last" else None,
            save_strategy="steps",
            save_steps=schedule.every,
            save_total_limit=2,
            logging_steps=max(1, min(10, schedule.total // 20), schedule.total // 200),
            report_to="none",  # tracker.py
            remove_unused_columns=False,
            disable_tqdm=True,
            dataloader_pin_memory=self.device != "cpu",
            label_names=["row"],
            **more_arguments(options.arguments),
        )


def _step_of(checkpoint: Path | None) -> int:
    return int(checkpoint.name.rsplit("-", 1)[1]) if checkpoint else 0
