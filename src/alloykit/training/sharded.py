"""Training with parameters that are sharded over the processes (FSDP): what leaves the training is whole."""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn

from alloykit.errors import AlloyError
from alloykit.training.module import TrainingModule


def require_shardable(processes: int, device: str) -> None:
    """AlloyError if FSDP cannot be done. On CPUs, accelerate would train without it and say nothing."""
    if processes == 1 or device == "cpu":
        raise AlloyError(
            expected="several processes with a GPU each, for `training: {arguments: {fsdp: …}}`",
            got=f"{processes} {'process' if processes == 1 else 'processes'} on {'CPUs' if device == 'cpu' else 'GPUs'}",
            hint="Leave `fsdp` out. It is for students that are too large for one GPU.",
        )


def copy_to_shard(model: TrainingModule) -> TrainingModule:
    """A copy whose parameters FSDP may replace by shards, which no process can use alone."""
    student, modules = copy.deepcopy(model.student), copy.deepcopy(model.modules_of_method)
    return TrainingModule(student, model.method, modules, model.context, model.phase, compiled=model.compiled)


def whole_state(model: nn.Module) -> dict[str, Tensor]:
    """The state of a model, on the CPU where it is sharded. Every process calls this, because each sends its shards."""
    return {name: _whole(tensor).contiguous() for name, tensor in model.state_dict().items()}


def _whole(tensor: Any) -> Tensor:
    found: Tensor = tensor.full_tensor().cpu() if hasattr(tensor, "full_tensor") else tensor
    return found
