"""The files of a store: their names and what they must hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.knowledge.store.records import TeacherRecord

CHUNK = 4  # passes in one unit of work
PER_PASS_CLASSES = 64  # with more classes only the sum of the passes is kept, unless not all of them are asked for

TensorSpec = tuple[torch.dtype, tuple[int, ...]]

_NAME = re.compile(r"teachers/(?P<teacher>.+)/[0-9a-f]/(?P<shard>[^/.]+)\.(?P<kind>logits|passes|pooled)(?:-\d+)?")


@dataclass(frozen=True)
class Unit:
    """The parts of a unit's name: teacher, shard and kind."""

    teacher: str
    shard: str
    kind: str


def logits_unit(teacher: str, shard: str) -> str:
    return f"teachers/{teacher}/{place_of(shard)}.logits"


def passes_unit(teacher: str, shard: str, start: int) -> str:
    return f"teachers/{teacher}/{place_of(shard)}.passes-{start:04d}"


def keeps_single_passes(unit: str, classes: int, passes: int) -> bool:
    """Whether a unit of passes holds each of them, and not their sum alone. passes: how many the sweep is asked for."""
    return classes <= PER_PASS_CLASSES or int(unit.rsplit("-", 1)[1]) + CHUNK > passes


def pooled_unit(teacher: str, shard: str, layer: int) -> str:
    return f"teachers/{teacher}/{place_of(shard)}.pooled-{layer:02d}"


def ids_unit(shard: str) -> str:
    return f"shards/{place_of(shard)}"


def place_of(shard: str) -> str:
    """Folder and name of a shard's files. There are sixteen folders, so that none has too many files."""
    return f"{texts_of(shard)[0]}/{shard}"


def name_in_folder(unit: str) -> str:
    """A unit's name as `Store.units` has it."""
    return "/".join(unit.rsplit("/", 2)[1:])


def texts_of(shard: str) -> str:
    """The part of a shard's name that depends only on its texts, and not on the store."""
    return shard.split("-", 1)[1]


def parsed(unit: str) -> Unit | None:
    """The parts of a unit's name; None for a unit that does not belong to a teacher."""
    found = _NAME.fullmatch(unit)
    return Unit(**found.groupdict()) if found else None


def wrong(tensors: Mapping[str, Tensor], kind: str, rows: int, about: TeacherRecord) -> tuple[str, str] | None:
    """The required and the actual tensors of a unit as texts, or None if they agree. `rows`: of its shard."""
    kinds: dict[str, dict[str, TensorSpec]] = {
        "logits": {"logits": (torch.float32, (rows, about.classes))},
        "pooled": {"pooled": (torch.float16, (rows, about.width or 0))},
        "passes": {
            "probability_sum": (torch.float32, (rows, about.classes)),
            "passes": (torch.int32, (rows,)),
            "per_pass": (torch.float32, (CHUNK, rows, about.classes)),
        },
    }
    wanted = kinds[kind]
    if kind == "passes" and "per_pass" not in tensors:
        del wanted["per_pass"]
    found = {name: (t.dtype, tuple(t.shape)) for name, t in tensors.items()}
    if found != wanted:
        return _described(wanted), _described(found)
    if not all(_finite(t, unanswered=kind == "logits" and about.identity is not None) for t in tensors.values()):
        return "finite numbers", "NaN or infinity"
    if kind == "passes" and not bool((tensors["passes"] == CHUNK).all()):
        return f"{CHUNK} passes of every text", "other numbers of them"
    return None


def _finite(tensor: Tensor, *, unanswered: bool) -> bool:
    """Whether all numbers are finite. unanswered: whole rows of NaN are texts without an answer."""
    finite = tensor.isfinite()
    return bool((finite | tensor.isnan().all(-1, keepdim=True) if unanswered else finite).all())


def _described(tensors: Mapping[str, TensorSpec]) -> str:
    return ", ".join(f"{name} {list(shape)} {str(dtype)[6:]}" for name, (dtype, shape) in sorted(tensors.items()))
