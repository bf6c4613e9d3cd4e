"""The recipe's `engine:` block."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from alloykit.blocks import Block


class EngineOptions(Block):
    """What computes: this process, or the workers of a Ray cluster (extra `ray`). Both give the same bits."""

    name: Literal["local", "ray"] = "local"
    """local: this process; ray: workers of a Ray cluster."""
    address: str | None = None
    """The address of the Ray cluster, for instance `auto` or `ray://head:10001`. Default: the address in RAY_ADDRESS, otherwise the cluster that was last started on this machine, otherwise a new one on this machine."""
    workers: int | None = Field(None, gt=0)
    """The number of workers. Default: as many as fit on the cluster's GPUs (with `gpus_per_worker`), otherwise on its CPU cores."""
    gpus_per_worker: float = Field(0, ge=0)
    """GPUs of each worker; 0.5 puts two workers on one GPU."""
    cpus_per_worker: int = Field(1, gt=0)
    """CPU cores of each worker, and threads of its models."""
    trainers: int = Field(0, ge=0)
    """Processes of the cluster that train the student together (Ray Train), each with the cores and GPUs of a worker. 0: the process of the command
    trains."""

    @model_validator(mode="after")
    def _trainers_of_a_cluster(self) -> EngineOptions:
        if self.trainers and self.name != "ray":
            raise ValueError("`trainers` are processes of a Ray cluster: set `name: ray` too")
        return self

    def device(self, here: str, wanted: str = "auto") -> str:
        """Where the workers' models run. here: the device of this process. wanted: the recipe's device."""
        if self.name == "local":
            return here
        return "cuda" if self.gpus_per_worker and wanted in ("auto", "cuda") else "cpu"
