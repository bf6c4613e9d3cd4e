"""Start several training processes on a Ray cluster with Ray Train, as `torchrun` starts them on machines that the user names."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.ray import connected
from alloykit.errors import AlloyError
from alloykit.processes import OtherProcessEnded
from alloykit.progress import set_quiet, silenced

AGAIN = 3  # times that all processes start again after one was lost; they go on from the last checkpoint


def run_trainers(options: EngineOptions, work: Callable[[], None], folder: Path) -> None:
    """Call work() in `options.trainers` processes at once. Each finds its rank in the environment (`processes.launched`).

    work: pickled. folder: for Ray Train's own notes; all machines see it. AlloyError of a process, without Ray, and without a cluster.
    """
    ray = connected(options)
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    resources = {"CPU": float(options.cpus_per_worker)}
    if options.gpus_per_worker:
        resources["GPU"] = options.gpus_per_worker
    with silenced("ray.train", "ray.tune"):  # they print tables and bars
        trainer = TorchTrainer(
            _Process(work, options.cpus_per_worker, os.getcwd()),
            torch_config=TorchConfig(backend="cpu:gloo,cuda:nccl" if options.gpus_per_worker else "gloo"),
            scaling_config=ScalingConfig(
                num_workers=options.trainers, use_gpu=bool(options.gpus_per_worker), resources_per_worker=resources
            ),
            run_config=RunConfig(
                name="alloykit", storage_path=str(folder.absolute()), failure_config=FailureConfig(max_failures=AGAIN)
            ),
        )
        try:
            trainer.fit()
        except Exception as error:
            if (cause := _cause_in(error)) is not None:
                raise cause from error
            if not isinstance(error, (ray.exceptions.RayError, RuntimeError)):
                raise
            raise AlloyError(
                expected=f"{options.trainers} training processes that run until the end",
                got=f"'{str(error).strip().splitlines()[0]}'",
                hint="Check the cluster, and run the same command again: it goes on from the last checkpoint.",
            ) from error


class _Process:
    """What a process does. Ray Train has joined the processes when it is called."""

    def __init__(self, work: Callable[[], None], threads: int, folder: str) -> None:
        self.work, self.threads, self.folder = work, threads, folder

    def __call__(self) -> None:
        import torch

        set_quiet(True)
        with suppress(OSError):  # so that relative paths name the same files, where this machine has them
            os.chdir(self.folder)
        torch.set_num_threads(self.threads)
        self.work()


def _cause_in(error: BaseException) -> AlloyError | None:
    """The AlloyError of a process in an error of Ray Train; rather one that says more than that another process has ended."""
    left, found = [error], list[AlloyError]()
    while left:
        one = left.pop()
        if isinstance(one, AlloyError):
            found.append(AlloyError(expected=one.expected, got=one.got, hint=one.hint))
            if not isinstance(one, OtherProcessEnded):
                return found[-1]
        more: list[Any] = [one.__cause__, getattr(one, "cause", None), getattr(one, "_base_exc", None)]
        more += list(getattr(one, "worker_failures", {}).values())
        left += [other for other in more if isinstance(other, BaseException)]
    return found[0] if found else None
