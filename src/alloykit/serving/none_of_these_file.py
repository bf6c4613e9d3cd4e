"""none_of_these.safetensors in a student's folder: what `predict --none-of-these` reads (stats/none_of_these.py)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors
from alloykit.files import write_atomic
from alloykit.models.folder import NONE_OF_THESE
from alloykit.stats.none_of_these import NoneOfThese

CHECKSUM = "sha256"  # in the file's metadata: of its values, which can be damaged without any other sign
AGAIN = "Run the recipe again with `alloykit amalgamate` or `distill`: it writes the file, and finished parts are kept."


def save_none_of_these(folder: Path, found: NoneOfThese | None) -> None:
    """Write it into a classifier's folder in one atomic step. None removes an earlier one; an equal one stays as it is."""
    path = folder / NONE_OF_THESE
    if found is None:
        with file_errors(path):
            path.unlink(missing_ok=True)
        return
    tensors = {name: tensor.contiguous() for name, tensor in found.state().items()}
    content = safetensors.torch.save(tensors, {CHECKSUM: _checksum(tensors)})
    with file_errors(path):
        is_there = path.is_file() and path.read_bytes() == content
    if not is_there:
        write_atomic(path, content)


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)} ".encode())
        found.update(tensors[name].numpy().tobytes())
    return found.hexdigest()


def load_none_of_these(folder: Path | None, width: int | None) -> NoneOfThese:
    """Read it. folder: None for a classifier in memory. width: of the states that the classifier's head reads. AlloyError if it is missing,
    damaged, or of another classifier."""
    if folder is None:
        raise AlloyError(
            expected="a classifier from a folder", got="one in memory", hint="Load it with Predictor.load(folder)."
        )
    path = folder / NONE_OF_THESE
    if not path.exists():
        raise AlloyError(
            expected=f"a student with {NONE_OF_THESE} in '{folder}'",
            got="none",
            hint=f"{AGAIN} If it is an export, export the run again. Other classifiers than students of alloykit have no such file.",
        )
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors, about = {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
        if about.get(CHECKSUM, wanted := _checksum(tensors)) != wanted:  # earlier versions wrote none
            raise ValueError(f"other values than its {CHECKSUM} says")
        found = NoneOfThese.of(tensors)
        if found.width != width:
            raise ValueError(f"states of {found.width} numbers, and the classifier has {width}")
    except (safetensors.SafetensorError, OSError, KeyError, ValueError) as error:
        got = f"no tensor {error}" if isinstance(error, KeyError) else f"'{error}'"
        raise AlloyError(
            expected=f"a whole file {path} of this version",
            got=got,
            hint=f"{AGAIN} Without the file all but this score works.",
        ) from error
    return found
