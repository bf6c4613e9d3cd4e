"""Records of what files and folders were made of, so that they can be reused safely.

A record is a JSON object of settings and of fingerprints of texts and models. If it equals the current inputs, the file is reused.
Otherwise it is computed again (`cached_tensors`) or refused with the differences (`check_made`). A record of an earlier version lacks the settings
that came later: they count as their defaults (`with_defaults_of`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors.torch
from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError
from torch import Tensor

from alloykit.blocks import effective
from alloykit.errors import AlloyError
from alloykit.file_errors import check_readable
from alloykit.files import replace_atomic
from alloykit.json_files import read_json, write_json
from alloykit.names import shown

MadeOf = Mapping[str, Any]
Complete = Callable[[dict[str, Any]], dict[str, Any]]
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def differing(before: Any, now: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The places at which two nested values differ: path, old, new. A key that only one mapping has counts as None in the other."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            yield from differing(before.get(key), now.get(key), f"{where}.{key}" if where else str(key))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for n, (a, b) in enumerate(zip(before, now, strict=True)):
            yield from differing(a, b, f"{where}.{n}")
    elif before != now:
        yield where, before, now


def differences(where: str, before: Any, now: Any) -> list[str]:
    """One line for every value that differs between two nested values."""
    return [_line(*found) for found in differing(before, now, where)]


def _line(where: str, before: Any, now: Any) -> str:
    if any(isinstance(value, str) and _FINGERPRINT.fullmatch(value) for value in (before, now)):
        return f"{where} differ in content"
    return f"{where}: was {shown(before)}, now {shown(now)}"


def what_differs(record: Path, made_of: MadeOf, complete: Complete | None = None) -> list[str]:
    """One line for each key of `made_of` whose value in the record differs. A missing key counts as None. complete: adds to the record what an
    earlier version did not write. AlloyError."""
    before, now = recorded(record), _plain(made_of)
    if complete is not None:
        before = complete(before)
    return [
        line
        for key, value in now.items()
        if key in before or value is not None
        for line in (differences(key, before[key], value) if key in before else [f"{key}: not recorded"])
    ]


def with_defaults_of(kind: type[BaseModel], record: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an earlier version as this version reads them: a key that it did not have, at any depth, has its default, and keys
    without effect are left out. Keys that are no settings stay. kind: of the settings. Settings that this version does not understand stay
    as they are."""
    settings = {key: value for key, value in record.items() if key in kind.model_fields}
    try:
        return dict(record) | effective(kind.model_validate(settings))
    except (ValidationError, AlloyError):
        return dict(record)


def check_made(record: Path, made_of: MadeOf, *, expected: str, complete: Complete | None) -> None:
    """AlloyError with the differences if the record of an output folder has other inputs than `made_of`. complete: as in `what_differs`."""
    if record.exists():
        lines = what_differs(record, made_of, complete)
        refuse(lines, expected=expected, hint="Choose another output or remove the folder.")


def refuse(lines: list[str], *, expected: str, hint: str) -> None:
    """AlloyError with these differences, if there are any."""
    if lines:
        raise AlloyError(
            expected=expected, got="another one:\n" + "\n".join(f"  - {line}" for line in lines) + "\n", hint=hint
        )


def record_made(record: Path, made_of: MadeOf, *, anew: bool = False) -> None:
    """Add `made_of` to the record. `anew`: replace the record."""
    before = {} if anew else recorded(record)
    now = before | _plain(made_of)
    if anew or now != before:
        write_json(record, now)


def cached_tensors(path: Path, made_of: MadeOf, compute: Callable[[], Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The tensors in `path` if the file is intact and was made of the same inputs; else they are computed and written there. AlloyError."""
    with suppress(SafetensorError):
        found = read_tensors(path)
        if found is not None and found[0] == _plain(made_of):
            return found[1]
    tensors = {key: value.detach().cpu().contiguous() for key, value in compute().items()}
    about = {"made_of": json.dumps(_plain(made_of)), "sha256": _content(tensors)}
    replace_atomic(path, lambda part: safetensors.torch.save_file(tensors, part, about))
    return tensors


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """What a file of `cached_tensors` was made of, and its tensors. None if there is no file; SafetensorError if it is damaged."""
    if not path.exists():
        return None
    check_readable(path)
    with safetensors.safe_open(path, framework="pt") as file:
        about = file.metadata() or {}
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    if about.get("sha256") != _content(tensors):
        raise SafetensorError("its checksum is another one")
    try:
        return dict(json.loads(about["made_of"])), tensors
    except (KeyError, TypeError, ValueError) as error:
        raise SafetensorError("it does not say what it was made of") from error


def _content(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, shapes, dtypes and values."""
    return hashlib.sha256(safetensors.torch.save(dict(tensors))).hexdigest()


def _plain(made_of: MadeOf) -> dict[str, Any]:
    """The same values as after writing them as JSON and reading them again."""
    return dict(json.loads(json.dumps(made_of, default=str)))


def recorded(record: Path) -> dict[str, Any]:
    """The content of a record; empty if there is none. AlloyError for a damaged one."""
    if not record.exists():
        return {}
    found = read_json(record)
    if not isinstance(found, dict):
        raise AlloyError(
            expected=f"a JSON object in {record}", got=type(found).__name__, hint="Delete the file and run again."
        )
    return found
