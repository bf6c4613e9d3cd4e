"""The recipe's `engine:` block."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from alloykit.blocks import Block


class EngineOptions(Block):
    """Who computes: this process, or the workers of a Ray cluster (extra `ray`). The results have the same bits."""

    name: Literal["local", "ray"] = "local"
    """local: this process; ray: workers of a Ray cluster."""
    address: str | None = None
    """Of the Ray cluster, for instance `auto` or `ray://head:10001`; if not given, RAY_ADDRESS, or else a cluster on this machine alone."""
    workers: int | None = Field(None, gt=0)
    """How many workers; if not given, as many as the cluster's GPUs, or processors where it has no GPU, have room for."""
    gpus_per_worker: float = Field(0, ge=0)
    """GPUs of each worker; 0.5 puts two workers on one GPU."""
    cpus_per_worker: int = Field(1, gt=0)
    """Processors of each worker, and threads of its models."""
