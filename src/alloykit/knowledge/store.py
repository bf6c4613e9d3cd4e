"""The knowledge store: append-only shards of safetensors, each with a receipt, and the identity of what made them.

    manifest.json                              format, rows per shard, digest of the salt of the text ids
    shards/00000.safetensors                   ids of the shard's rows, [R, 16] uint8
    teachers/NAME/teacher.json, sampling.json  what the answers depend on: weights, tokenizer, lengths; dropout, seed
    teachers/NAME/verified-….json              a folder that was found to be that teacher (verified.py)
    teachers/NAME/00000.logits.safetensors     logits [R, C_i] float32
    teachers/NAME/00000.passes-0004.safetensors  passes 4–7: probability_sum [R, C_i], passes [R], per_pass [4, R, C_i]
    teachers/NAME/00000.pooled-06.safetensors    pooled [R, d_i] float16: mean of the token states of layer 6

A file counts once its receipt (`.json` beside it: SHA-256, bytes) is there; the receipt is written last. New texts and
new teachers add files and touch none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.knowledge.index import Ids, RowIndex, as_bytes
from alloykit.knowledge.storage import Storage

FORMAT = 1
SHARD_ROWS = 1024
CHUNK = 4  # passes in one unit of work
PER_PASS_CLASSES = 64  # above that many classes, single passes are not kept, only their sum


class Store:
    """Opens or creates a store. AlloyError for another format or another salt."""

    def __init__(self, url: str | Path, *, salt: str = "", shard_rows: int = SHARD_ROWS) -> None:
        self.storage = Storage(url)
        wanted = {"format": FORMAT, "salt": hashlib.sha256(salt.encode()).hexdigest() if salt else None}
        if self.storage.exists("manifest.json"):
            manifest = self._read_json("manifest.json")
            self._compare("the store", {k: manifest.get(k) for k in wanted}, wanted)
        else:
            manifest = wanted | {"shard_rows": shard_rows}
            self._write_json("manifest.json", manifest)
        self.shard_rows: int = manifest["shard_rows"]

    # Rows

    def shards(self) -> list[np.ndarray[Any, Any]]:
        """The ids of each shard, [R, 16] uint8, in order."""
        found: list[np.ndarray[Any, Any]] = []
        while self.has(f"shards/{len(found):05d}"):
            found.append(self.load(f"shards/{len(found):05d}")["ids"].numpy())
        return found

    def add(self, ids: Ids, *, again: bool = False) -> None:
        """Give a row to every id that has none yet (`again`: to every id), in new shards; the first occurrence decides the order."""
        shards, wanted = self.shards(), as_bytes(ids)
        backwards = RowIndex([np.ascontiguousarray(wanted[::-1])])  # the last of equal ids there is the first here
        first = backwards.find(wanted) == np.arange(len(wanted))[::-1]
        fresh = wanted[first & (again | (RowIndex(shards).find(wanted) < 0))]
        for n, start in enumerate(range(0, len(fresh), self.shard_rows)):
            part = torch.from_numpy(fresh[start : start + self.shard_rows])
            self.save(f"shards/{len(shards) + n:05d}", {"ids": part})

    # Who made it

    def identify(self, teacher: str, kind: str, identity: Mapping[str, Any]) -> None:
        """Record what a teacher's files depend on, or refuse if it differs from what the files that are there were made with.

        kind: `teacher` (everything) or `sampling` (the passes).
        """
        name = f"teachers/{teacher}/{kind}.json"
        part = ".passes-" if kind == "sampling" else ".safetensors"
        made = any(part in file for file in self.storage.names(f"teachers/{teacher}"))
        if made and self.storage.exists(name):
            self._compare(f"teacher '{teacher}'", self._read_json(name), identity)
        else:
            self._write_json(name, dict(identity))

    def note(self, teacher: str, kind: str, about: Mapping[str, Any]) -> None:
        """Keep something about a teacher, beside its files."""
        self._write_json(f"teachers/{teacher}/{kind}.json", dict(about))

    def identity(self, teacher: str, kind: str) -> dict[str, Any] | None:
        name = f"teachers/{teacher}/{kind}.json"
        return self._read_json(name) if self.storage.exists(name) else None

    def _compare(self, whose: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        for field in wanted:
            if stored.get(field) != wanted[field]:
                raise AlloyError(
                    expected=f"knowledge of {whose} made with {field} = {_short(wanted[field])}",
                    got=f"{field} = {_short(stored.get(field))} in {self.storage.url}",
                    hint="It was made by another model, text reader or setting. Use another output or `--knowledge` folder, "
                    "or delete this one.",
                )

    # Files

    def has(self, unit: str) -> bool:
        return self.storage.exists(f"{unit}.json") and self.storage.exists(f"{unit}.safetensors")

    def save(self, unit: str, tensors: Mapping[str, Tensor], **about: Any) -> None:
        """Write a unit and then its receipt; whatever happens between leaves a unit that does not count yet."""
        data = safetensors.torch.save({k: v.contiguous() for k, v in tensors.items()})
        self.storage.write(f"{unit}.safetensors", data)
        receipt = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), **about}
        self._write_json(f"{unit}.json", receipt)

    def seconds(self, teacher: str) -> float:
        """How long the units of a teacher took to compute, whoever computed them and when."""
        names = [n for n in self.storage.names(f"teachers/{teacher}") if n.endswith(".json") and n[0].isdigit()]
        return float(sum(self._read_json(f"teachers/{teacher}/{name}").get("seconds", 0.0) for name in names))

    def load(self, unit: str) -> dict[str, Tensor]:
        """A unit's tensors, after its checksum was verified. AlloyError if it is corrupt."""
        receipt, data = self._read_json(f"{unit}.json"), self.storage.read(f"{unit}.safetensors")
        found, wanted = hashlib.sha256(data).hexdigest(), receipt.get("sha256")
        if found == wanted:
            return dict(safetensors.torch.load(data))
        if wanted is None:
            raise AlloyError(
                expected=f"a receipt with a checksum in {self.storage.path(unit)}.json",
                got="none",
                hint="Delete it and run again: only this part is computed anew.",
            )
        raise AlloyError(
            expected=f"{unit}.safetensors with SHA-256 {wanted[:12]}…",
            got=f"{found[:12]}… ({len(data)} bytes of {receipt['bytes']})",
            hint="The file is corrupt, and it says which text stands in which row. "
            f"Delete the folder {self.storage.url} and run again."
            if unit.startswith("shards/")
            else f"The file is corrupt. Delete {self.storage.path(unit)}.json and run again: "
            "only this part is computed anew.",
        )

    def _read_json(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads(self.storage.read(name))
            if not isinstance(value, dict):
                raise ValueError(f"{type(value).__name__}, not an object")
            return value
        except (json.JSONDecodeError, UnicodeDecodeError, ValueError) as error:
            raise AlloyError(
                expected=f"valid JSON in {self.storage.path(name)}", got=str(error), hint="Delete it and run again."
            ) from error

    def _write_json(self, name: str, value: Mapping[str, Any]) -> None:
        self.storage.write(name, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def _short(value: Any) -> str:
    """Fingerprints to their first twelve characters: enough to see that they differ."""
    text = str(value)
    return f"{text[:12]}…" if len(text) == 64 else text


def logits_unit(teacher: str, shard: int) -> str:
    return f"teachers/{teacher}/{shard:05d}.logits"


def passes_unit(teacher: str, shard: int, start: int) -> str:
    return f"teachers/{teacher}/{shard:05d}.passes-{start:04d}"


def pooled_unit(teacher: str, shard: int, layer: int) -> str:
    return f"teachers/{teacher}/{shard:05d}.pooled-{layer:02d}"
