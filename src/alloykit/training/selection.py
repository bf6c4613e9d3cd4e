"""Select the checkpoint that becomes the student (ours; MUKA §4.1 selects by labels)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import safetensors.torch
from pydantic import TypeAdapter, ValidationError
from torch import nn
from transformers import TrainerCallback

from alloykit import processes
from alloykit.digests import file_sha256
from alloykit.files import replace_atomic
from alloykit.json_files import write_json
from alloykit.training.sharded import whole_state


@dataclass(frozen=True)
class Check:
    """One check on the held-out texts: mean and standard error of the criterion."""

    step: int
    mean: float
    standard_error: float
    sha256: str = ""
    """SHA-256 of the file with the weights at this step."""


Rule = Literal["unlabelled", "labelled", "last"]


_CHECKS = TypeAdapter(list[Check])


def choose(checks: list[Check], rule: Rule, tolerance: float = 0.0) -> Check:
    """The check whose weights become the student's.

    unlabelled: the earliest check whose mean loss is at most `tolerance` standard errors (of the lowest check) above the lowest. labelled:
    the earliest check with the highest mean accuracy. last: the last check."""
    if rule == "last":
        return checks[-1]
    if rule == "labelled":
        return max(checks, key=lambda c: (c.mean, -c.step))
    lowest = min(checks, key=lambda c: (c.mean, c.step))
    return next(c for c in checks if c.mean <= lowest.mean + tolerance * lowest.standard_error)


class Selection(TrainerCallback):
    """Keeps the weights of every check that may still be chosen, in `folder`, and the list of all checks.

    Weights of a check that cannot be chosen are not written. If a later check makes weights useless, they are deleted at once.
    """

    def __init__(self, folder: Path, rule: Rule, tolerance: float = 0.0) -> None:
        self.folder, self.rule, self.tolerance = folder, rule, tolerance
        self.checks: list[Check] = []

    def resume(self, step: int) -> bool:
        """Drop the checks after the step that training resumes from: they will be made again.

        False if the files of the earlier checks are missing or damaged: training must then start from the beginning. Weights that were
        deleted because of a later check are not needed, because that check is made again.
        """
        try:
            listed = _CHECKS.validate_json((self.folder / "checks.json").read_bytes(), strict=True) if step else []
            self.checks = [check for check in listed if check.step <= step]
            needed = [c for c in self._reachable() if self._file(c).exists() or not listed[-1].step > step]
            intact = all(file_sha256(self._file(check)) == check.sha256 for check in needed)
        except (OSError, ValidationError):
            intact = step == 0 or self.rule == "last"
        if processes.is_first():
            self._prune()
        return intact

    def on_evaluate(self, args: Any, state: Any, control: Any, model: nn.Module, **kwargs: Any) -> None:
        metrics = kwargs["metrics"]
        check = Check(state.global_step, metrics["eval_criterion"], metrics["eval_standard_error"])
        if not math.isfinite(check.mean) or any(c.step == check.step for c in self.checks):
            return
        self.checks.append(check)
        if check in self._reachable():  # in every process: a sharded student's weights are gathered
            tensors = whole_state(model)
            if state.is_world_process_zero:
                replace_atomic(self._file(check), lambda path: safetensors.torch.save_file(tensors, path))
                self.checks[-1] = replace(check, sha256=file_sha256(self._file(check)))
        if state.is_world_process_zero:
            write_json(self.folder / "checks.json", [asdict(c) for c in self.checks])
            self._prune()

    def restore(self, model: nn.Module) -> Check:
        """Load the chosen check's weights into the model, in every process."""
        processes.barrier()  # process 0 has written them
        chosen = choose([c for c in self.checks if self._file(c).exists()], self.rule, self.tolerance)
        safetensors.torch.load_model(model, self._file(chosen))
        processes.barrier()  # before process 0 removes them
        return chosen

    def _prune(self) -> None:
        reachable = {self._file(c) for c in self._reachable()}
        for file in self.folder.glob("step-*.safetensors"):
            if file not in reachable:
                file.unlink()

    def _reachable(self) -> list[Check]:
        if not self.checks or self.rule != "unlabelled":
            return [choose(self.checks, self.rule)] if self.checks else []
        lowest = min(self.checks, key=lambda c: (c.mean, c.step))
        # Twice the tolerance, because a later and lower check may have a larger standard error.
        return [c for c in self.checks if c.mean <= lowest.mean + 2 * self.tolerance * lowest.standard_error]

    def _file(self, check: Check) -> Path:
        return self.folder / f"step-{check.step:07d}.safetensors"
