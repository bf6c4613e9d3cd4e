"""Train a student phase by phase with transformers' Trainer; go on after a crash, and with smaller batches if memory runs out."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import nn
from transformers import TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback, TrainerState

from alloykit.errors import AlloyError
from alloykit.files import os_error
from alloykit.methods.protocol import Context, Method, Phase
from alloykit.models.device import pick_device
from alloykit.out_of_memory import is_out_of_memory
from alloykit.precision import choose_precision
from alloykit.progress import bar, say
from alloykit.training.checkpoints import last_complete_checkpoint
from alloykit.training.dataset import Collator, Tokens
from alloykit.training.module import Amalgam
from alloykit.training.phase_trainer import PhaseTrainer, Progress, Validation, summarise_checks
from alloykit.training.schedule import Schedule, known
from alloykit.training.selection import Selection
from alloykit.training.training_options import TrainingOptions

Supply = Callable[[Phase, Any, nn.ModuleDict], tuple[Any, Any]]
"""phase, student, the method's modules → dataset and collator."""


@dataclass
class Fitted:
    """What training did: losses by step, checks, which check was taken, and the method's modules as they then were."""

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
    supply: Supply | None = None,
    device: str = "auto",
) -> Fitted:
    """Train `student` in place, phase by phase; leave the selected weights in it.

    `dataset`, `checks`: token ids and `row` (dataset.py), joined with the teachers' outputs by `collator` and `check_collator` (by default the
    same one).
    `supply`: makes each phase's data anew, from the student as it then is. `validation`: labelled texts that the method may ask the student about in between. `folder` holds checkpoints; started again after a crash, training goes on from the last complete one, with the same
    result as if it had never stopped.
    """
    modules, device = method.modules(context), pick_device(device)
    fitted = Fitted(modules=modules)
    for phase in method.phases():
        if supply is not None:
            dataset, collator = supply(phase, student, modules)
        model = Amalgam(student, method, modules, context, phase, compiled=options.compile)
        begun = {key: value.detach().cpu().clone() for key, value in model.state_dict().items()}
        parts = dataset, checks, validation, collator, check_collator or collator
        job = _Phase(model, *parts, phase, folder / phase.name, device)
        while True:
            try:
                job.run(options, fitted)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            options = _smaller(options, method)
            model.load_state_dict(begun)  # what the failed attempt learned is in its checkpoints, or lost
    student.eval()
    return fitted


def _smaller(options: TrainingOptions, method: Method) -> TrainingOptions:
    """The same optimiser steps from smaller batches, more of which are accumulated. AlloyError where that is not the same."""
    size = options.batch_size
    if size == 1 or method.batch_coupled:
        raise AlloyError(
            expected=f"memory for batches of {size} texts",
            got="too little" + (f", and with method '{method.name}' smaller ones are not the same" if size > 1 else ""),
            hint="Lower `training: {batch_size: …}` or `{max_length: …}`, take a smaller student, or free some memory.",
        )
    part = next(d for d in range(2, size + 1) if size % d == 0)
    say(f"training: out of memory; going on with {part * options.accumulate} batches of {size // part} texts per step")
    return options.model_copy(update={"batch_size": size // part, "accumulate": options.accumulate * part})


@dataclass
class _Phase:
    """One phase of training; `run` may be called again after a failure, and goes on from the last complete checkpoint."""

    model: Amalgam
    dataset: Tokens
    checks: Tokens | None
    validation: Validation | None
    collator: Collator
    check_collator: Collator
    phase: Phase
    folder: Path
    device: str

    def run(self, options: TrainingOptions, fitted: Fitted) -> None:
        schedule = Schedule.of(len(self.dataset), options, self.phase.epochs)
        wanted = self.phase.select or options.select
        total, rule = schedule.total, wanted if self.checks is not None and len(self.checks) else "last"
        args = self._arguments(options, schedule, rule)
        selection = Selection(self.folder / "checks", rule, options.tolerance)
        trainer = PhaseTrainer(
            model=self.model,
            args=args,
            train_dataset=self.dataset,
            eval_dataset=self.checks,
            data_collator=self.collator,
            compute_metrics=summarise_checks,
            callbacks=[selection],
        )
        trainer.prepare_for(self.model.method, self.check_collator, self.validation, labelled=rule == "labelled")
        for unwanted in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(unwanted)
        self._train(trainer, selection, total)
        if rule != "last" and not any(c.step == total for c in selection.checks):
            trainer.evaluate()
        if rule != "last" and not selection.checks:
            raise AlloyError(
                expected="a finite loss on the held-out texts",
                got="NaN at every check",
                hint="Lower the learning rate.",
            )
        chosen = selection.restore(self.model).step if rule != "last" else total
        before = fitted.steps  # steps count on through the phases
        fitted.history += [  # without the Trainer's own summary, whose mean loss leaves out the steps before a restart
            {"phase": self.phase.name, **entry, "step": before + entry["step"]}
            for entry in trainer.state.log_history
            if "train_runtime" not in entry
        ]
        fitted.steps, fitted.selected_step = before + total, before + chosen

    def _train(self, trainer: PhaseTrainer, selection: Selection, total: int) -> None:
        resumed = last_complete_checkpoint(self.folder)
        done = int(resumed.name.rsplit("-", 1)[1]) if resumed else 0
        if not selection.resume(done):
            say("training: what was kept of earlier checks is damaged; training begins anew")
            shutil.rmtree(self.folder)
            resumed, done = None, 0
            selection.resume(0)
        if resumed:
            say(f"training: going on from step {done} of {total}")
        title = "training" if self.phase.name == "train" else f"training ({self.phase.name})"
        with bar(title, total - done, "steps") as advance:
            trainer.add_callback(Progress(advance, trainer))
            try:
                if resumed is not None and done >= total:  # Trainer would make one step too many
                    safetensors.torch.load_model(self.model, resumed / "model.safetensors")
                    trainer.state = TrainerState.load_from_json(str(resumed / "trainer_state.json"))
                else:
                    trainer.train(resume_from_checkpoint=str(resumed) if resumed else None)
            except (OSError, SafetensorError) as error:
                raise os_error(error, self.folder, what="checkpoints") from error

    def _arguments(self, options: TrainingOptions, schedule: Schedule, rule: str) -> TrainingArguments:
        return TrainingArguments(
            output_dir=str(self.folder),
            per_device_train_batch_size=options.batch_size,
            per_device_eval_batch_size=max(64, options.batch_size),
            gradient_accumulation_steps=options.accumulate,
            max_steps=schedule.total,
            learning_rate=self.phase.learning_rate or known(options.learning_rate, "learning_rate"),
            warmup_steps=math.ceil(options.warmup * schedule.total),
            weight_decay=options.weight_decay,
            max_grad_norm=options.max_grad_norm,
            lr_scheduler_type=options.scheduler,
            seed=options.seed,
            data_seed=options.seed,
            bf16=choose_precision(options.precision, self.device) == "bfloat16",
            torch_compile=options.compile,
            use_cpu=self.device == "cpu",
            eval_strategy="steps" if rule != "last" else "no",
            eval_steps=schedule.every if rule != "last" else None,
            save_strategy="steps",
            save_steps=schedule.every,
            save_total_limit=2,
            logging_steps=max(1, min(10, schedule.total // 20), schedule.total // 200),
            report_to=options.report_to or "none",
            remove_unused_columns=False,
            disable_tqdm=True,
            dataloader_pin_memory=self.device != "cpu",
            label_names=["row"],
        )
