"""When training writes a checkpoint to go on from. One of a student of base size has 1.3 GB. On a GPU its writing can take longer than the steps between two checks."""

from __future__ import annotations

import time

from alloykit import processes

COST = 20  # after a checkpoint, training takes at least this many times its seconds until the next one


class SaveTimer:
    """A checkpoint is due `seconds` after the last one, or COST times the seconds that the last one took, if that is longer.

    The time counts from the start of the training if there is no checkpoint yet. With 0 seconds a checkpoint is due at every check.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.took = seconds, 0.0
        self.begun = self.last = time.monotonic()

    def due(self) -> bool:
        """Whether a checkpoint is due. All processes ask at the same step and get the answer of process 0."""
        passed = time.monotonic() - self.last >= max(self.seconds, COST * self.took)
        return processes.from_first(passed or self.seconds == 0)

    def begin(self) -> None:
        """A checkpoint is about to be written."""
        self.begun = time.monotonic()

    def end(self) -> None:
        """It is complete."""
        self.last = time.monotonic()
        self.took = self.last - self.begun
