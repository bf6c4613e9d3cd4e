"""Jobs that kill their workers. This file imports no torch, so that workers start quickly."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from alloykit.engines.jobs import Job
from alloykit.errors import AlloyError


class Killed:
    """Job 3 kills the first worker that gets it."""

    def __init__(self, folder: Path, always: bool = False) -> None:
        self.mark, self.always = folder / "killed", always

    def __call__(self, job: Job) -> tuple[int, int]:
        if job.payload == 3 and (self.always or not self.mark.exists()):
            self.mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        if job.payload == "bad":
            raise AlloyError(expected="a good job", got="a bad one", hint="Mend it.")
        return job.payload, os.getpid()


def jobs() -> list[Job]:
    return [Job("abc"[n % 3], n) for n in range(12)]
