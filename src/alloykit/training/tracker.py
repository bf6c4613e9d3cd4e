"""Send figures to trackers (TensorBoard, trackio, MLflow, …) through transformers' callbacks. Only this file uses trackers."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from alloykit.errors import AlloyError
from alloykit.progress import warn_line

FOLDER = "tensorboard"  # in the output folder; transformers would write into the checkpoints' folder, which is removed
PROJECT = "alloykit"


class Tracker(TrainerCallback):
    """The trackers of a run, from its beginning to its end. It is also a callback of the Trainer, and sends the losses that the Trainer logs.

    If a tracker fails during a run, it gets nothing more, a warning is printed, and the run goes on.
    """

    def __init__(self, callbacks: Mapping[str, Any], arguments: Any) -> None:
        self._callbacks, self._arguments, self._before = dict(callbacks), arguments, 0

    def begin(self, name: str, folder: Path) -> None:
        """Begin a run in one more tracker. folder: the output folder. AlloyError."""
        from transformers.integrations import get_reporting_integration_callbacks

        try:
            with redirect_stdout(sys.stderr):
                callback = get_reporting_integration_callbacks([name])[0]()
                if name == "tensorboard" and callback.logging_dir is None:
                    callback.logging_dir = str(folder / FOLDER)
                callback.on_train_begin(self._arguments, TrainerState(), TrainerControl(), model=None)
        except Exception as error:  # not installed, another version, no account, no server
            lines = str(error).splitlines() or [""]
            raise AlloyError(
                expected=f"a tracker '{name}' that can be used, for `report_to`",
                got=f"{type(error).__name__}: {lines[0]}",
                hint=f"Install it (`pip install {name.replace('_', '-')}`) or a version that fits this transformers, or take it out of `report_to`.",
            ) from error
        self._callbacks[name] = callback

    def log(self, figures: Mapping[str, float], step: int = 0) -> None:
        """Send some figures. step: optimiser steps so far."""
        if self._callbacks and figures:
            state = TrainerState(global_step=step)
            self._each("on_log", self._arguments, state, TrainerControl(), logs=dict(figures))

    def begin_phase(self, steps: int) -> None:
        """Begin a phase. Its steps are counted on from those of the earlier phases. steps: the steps of the earlier phases."""
        self._before = steps

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Send what the Trainer logs."""
        shifted = copy.copy(state)
        shifted.global_step += self._before
        self._each("on_log", args, shifted, control, **kwargs)

    def close(self) -> None:
        """End the run in every tracker."""
        self._each("on_train_end", self._arguments, TrainerState(), TrainerControl(), model=None)

    def _each(self, event: str, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        for name, callback in list(self._callbacks.items()):
            try:
                with redirect_stdout(sys.stderr):  # standard output is for results
                    getattr(callback, event)(args, state, control, **kwargs)
            except Exception as error:  # of foreign libraries and servers
                warn_line(f"tracker {name} failed, and nothing more is sent to it: {type(error).__name__}: {error}")
                del self._callbacks[name]


@contextmanager
def tracking(names: Sequence[str], folder: Path, device: str) -> Iterator[Tracker]:
    """The trackers with these names, open while the block runs. folder: the output folder, whose name the run gets.

    AlloyError for a tracker that is not installed, or that cannot begin.
    """
    if not names:
        yield Tracker({}, None)
        return
    arguments = _arguments(folder, device)
    tracker = Tracker({}, arguments)
    try:
        for name in dict.fromkeys(names):
            tracker.begin(name, folder)
        yield tracker
    finally:
        tracker.close()


def _arguments(folder: Path, device: str) -> TrainingArguments:
    """What trackers need before the training begins: names and folders."""
    arguments = TrainingArguments(
        output_dir=str(folder), run_name=folder.resolve().name, report_to="none", use_cpu=device == "cpu"
    )
    arguments.project = PROJECT
    return arguments
