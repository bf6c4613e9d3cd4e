"""Whatever a student raises while it reads texts in training becomes one sentence for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from alloykit.errors import AlloyError
from alloykit.out_of_memory import is_out_of_memory


def student_errors(student: Any) -> AbstractContextManager[None]:
    """Errors inside become an AlloyError, except for a lack of memory. Nothing is done while torch.compile reads the code."""
    return nullcontext() if torch.compiler.is_compiling() else _named(type(student).__name__)


@contextmanager
def _named(architecture: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # architectures raise many kinds
        if isinstance(error, AlloyError) or is_out_of_memory(error) or "CUDA error" in str(error):
            raise
        problem = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
        raise AlloyError(
            expected=f"a student that can read texts in training, and {architecture} cannot",
            got=f"{type(error).__name__}: {problem[:200].rstrip('.')}",
            hint="Set `training: {precision: float32}`. If that does not help, take a student of another architecture.",
        ) from error
