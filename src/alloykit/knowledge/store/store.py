"""The store of the teachers' outputs: append-only shards of safetensors, each with a receipt, and records of what made them.

    manifest.json                              format, rows per shard, digest of the salt of the text ids
    shards/5/00000-5f2c….safetensors           ids of the shard's rows, [R, 16] uint8; the name has their digest
    index/….rows                               the ids of many shards, sorted; a cache (index_files.py)
    teachers/NAME/teacher.json, sampling.json  what the answers depend on: weights, tokenizer, lengths; dropout, seed
    teachers/NAME/fingerprint-….json              a model folder that was compared with this teacher (knowledge/sweep/teacher_fingerprint.py)
    teachers/NAME/probe.json                   what a teacher that cannot be hashed answered to 32 fixed texts (knowledge/sweep/probe.py)
    teachers/NAME/5/SHARD.logits.safetensors   logits [R, C_i] float32; a row of NaN: the teacher has no answer to this text
    teachers/NAME/5/SHARD.passes-0004.safetensors  passes 4–7: probability_sum [R, C_i], passes [R], per_pass [4, R, C_i]
    teachers/NAME/5/SHARD.pooled-06.safetensors  pooled [R, d_i] float16: mean of the token states of layer 6

The folder of a shard's files is the first digit of its digest.

A file counts only with its receipt (`.json` beside it: SHA-256, bytes), which is written last. New texts and new teachers
add files and change none.

Several processes may fill one store at once, without a lock, on a local disk or a remote one. A shard is named after its texts, so that
two processes that add the same texts write the same file, and processes with other texts never do. A text that two processes add at
once has two rows. Each process fills the rows that it chose, and a reader takes the first complete row.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from alloykit.digests import digest
from alloykit.errors import AlloyError
from alloykit.knowledge.store.artifacts import differing
from alloykit.knowledge.store.id_index import IdIndex, Segment
from alloykit.knowledge.store.index_files import FROM as SORTED_FROM
from alloykit.knowledge.store.index_files import read_segments, write_segment
from alloykit.knowledge.store.records import RECORDS, Manifest, Receipt, TeacherRecord, parse_record
from alloykit.knowledge.store.shard_ids import ShardIds
from alloykit.knowledge.store.storage import Storage
from alloykit.knowledge.store.units import ids_unit, parsed, wrong
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.row_index import Ids, RowIndex, id_blocks

FORMAT = 4
SHARD_ROWS = 1024
OTHER_TEACHER = "They were made with another model, tokenizer or setting. Use another output or `--cache` folder, or delete this one."
_SHARD = re.compile(r"(\d{5,})-([0-9a-f]{12})")


class Store:
    """Opens or creates a store. AlloyError for another format or another salt."""

    def __init__(self, url: str | Path, *, salt: str = "", shard_rows: int = SHARD_ROWS) -> None:
        self.storage = Storage(url)
        wanted = {"salt": hashlib.sha256(salt.encode()).hexdigest() if salt else None}
        self._begin()
        if self.storage.exists("manifest.json"):
            manifest = self._manifest()
            self._compare("the store", {k: getattr(manifest, k) for k in wanted}, wanted)
            shard_rows = manifest.shard_rows
        else:
            self._write_json("manifest.json", wanted | {"format": FORMAT, "shard_rows": shard_rows})
        self.shard_rows = shard_rows

    @classmethod
    def existing(cls, url: str | Path) -> Store:
        """A store that another process has opened, for its workers. AlloyError where it is not there."""
        store = cls.__new__(cls)
        store.storage = Storage(url)
        store._begin()
        if not store.storage.exists("manifest.json"):
            raise AlloyError(
                expected=f"the store {url} on every machine that computes",
                got="none on one of them",
                hint="Name one that all see with `--cache`: a folder of a shared file system, or an fsspec path such as s3://….",
            )
        store.shard_rows = store._manifest().shard_rows
        return store

    def _manifest(self) -> Manifest:
        found = parse_record(Manifest, self.storage.read("manifest.json"), self.storage.path("manifest.json"))
        if found.format != FORMAT:
            raise AlloyError(
                expected=f"a store of format {FORMAT} in {self.storage.url}",
                got=f"format {found.format}, of another version of alloykit",
                hint="Use another output or `--cache` folder, or delete this one and run again.",
            )
        return found

    def _begin(self) -> None:
        self.probed = set[str]()  # teachers whose probe this process has compared
        self._made_of: dict[tuple[str, str], dict[str, Any]] = {}  # records that this process has compared
        self._id_file, self._places = RowFile("the ids of the texts"), dict[str, tuple[int, int]]()
        self._segments = list[Segment]()  # sorted ids that are stored
        self._recent: Segment | None = None  # sorted ids of other shards
        self._index: tuple[tuple[str, ...], IdIndex] | None = None

    # Rows

    def shards(self) -> ShardIds:
        """The ids of each shard's rows, oldest shard first. AlloyError for a shard that is damaged.

        A shard never changes, so this process reads each file of ids once, and none whose ids are in a sorted file of the store."""
        names, known = self._shard_names(self.units("shards")), self._sorted()
        new = [name for name in names if name not in self._places and name not in known]
        if len(new) >= SORTED_FROM:
            self._segments, self._recent, self._index = read_segments(self.storage, names), None, None
            known = self._sorted()
        for name in new:
            if name not in known:
                self._keep_ids(name, self._ids(name))
        return self._shard_ids(names)

    def _shard_ids(self, names: Sequence[str]) -> ShardIds:
        known = self._sorted()
        return ShardIds({n: self._places[n][1] if n in self._places else known[n] for n in names}, self._ids_of)

    def _ids_of(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._places:
            return self._ids(name)
        first, rows = self._places[name]
        return self._id_file.between(first, first + rows)

    def _sorted(self) -> dict[str, int]:
        """The shards of the stored segments, with their rows."""
        return {name: rows for segment in self._segments for name, rows in segment.shards.items()}

    def index(self, names: Sequence[str]) -> IdIndex:
        """The rows of some of the `shards`, counted over all of them in this order. Only the last index is kept."""
        if self._index is None or self._index[0] != tuple(names):
            shards = self._shard_ids(names)
            self._index = tuple(names), IdIndex(shards.rows_of, self._segments_of(names))
        return self._index[1]

    def _segments_of(self, names: Sequence[str]) -> list[Segment]:
        """Segments that have all these shards, each once."""
        known = self._sorted()
        rest = [name for name in names if name not in known]
        if not rest:
            return self._segments
        if self._recent is None or not self._recent.shards.keys() >= set(rest):
            ids = self._shard_ids(rest)
            self._recent = Segment(ids.rows_of, RowIndex(ids.values(), sum(ids.rows_of.values())).table)
        return [*self._segments, self._recent]

    def keep_index(self) -> None:
        """Write the sorted ids of all shards to the store, if many shards are in no file of sorted ids. AlloyError.

        Files that are not much larger are merged into it, so that there are never many."""
        names = list(self.shards())
        known = self._sorted()
        rest = [name for name in names if name not in known]
        if len(rest) < SORTED_FROM:
            return
        new = self._segments_of(rest)[-1]
        merged, rows = [new], new.rows
        for segment in sorted(self._segments, key=lambda s: s.rows):
            if segment.rows <= 2 * rows:
                merged.append(segment)
                rows += segment.rows
        kept = [segment for segment in self._segments if segment not in merged]
        self._segments, self._recent, self._index = [*kept, write_segment(self.storage, merged)], None, None

    def add(self, ids: Ids) -> list[str]:
        """Add a row in new shards for every id; no two are equal. Returns the names of the shards."""
        # Only complete shards count: one that a killed process left incomplete is written again under the same name.
        number = 1 + max((int(name.split("-")[0]) for name in self._shard_names(self.units("shards"))), default=-1)
        made = []
        for n, part in enumerate(id_blocks(ids, self.shard_rows)):
            name = f"{number + n:05d}-{_digest(part)}"
            self.save(ids_unit(name), {"ids": torch.from_numpy(part)})
            made.append(name)
            if name not in self._places:
                self._keep_ids(name, part)
        return made

    def _keep_ids(self, name: str, ids: np.ndarray[Any, Any]) -> None:
        self._places[name] = self._id_file.append(ids), len(ids)

    def _shard_names(self, names: set[str]) -> list[str]:
        found = [match for name in names if (match := _SHARD.fullmatch(name.rsplit("/", 1)[-1]))]
        return [match[0] for match in sorted(found, key=lambda m: (int(m[1]), m[2]))]

    def _ids(self, name: str) -> np.ndarray[Any, Any]:
        tensors = self.load(ids_unit(name))
        ids = tensors.get("ids")
        whole = ids is not None and ids.dtype == torch.uint8 and ids.ndim == 2 and ids.shape[1] == 16
        if len(tensors) != 1 or ids is None or not whole or _digest(ids.numpy()) != name.split("-")[1]:
            raise self._corrupt(ids_unit(name), "the ids of the texts that it is named after", "something else")
        return ids.numpy()

    # Records

    def identify(self, teacher: str, kind: str, identity: Mapping[str, Any]) -> None:
        """Record what a teacher's files depend on. AlloyError if the existing files were made with other values.

        kind: `teacher` (everything) or `sampling` (the passes).
        """
        name = f"teachers/{teacher}/{kind}.json"
        part = ".passes-" if kind == "sampling" else ".safetensors"
        made = any(part in file for file in self.storage.names_below(f"teachers/{teacher}"))
        before = self.identity(teacher, kind) if made else None
        if before is not None:
            self._compare(f"teacher '{teacher}'", before, identity)
        else:
            self._write_json(name, dict(identity))
        self._made_of[teacher, kind] = RECORDS[kind].model_validate(dict(identity)).model_dump(exclude_unset=True)

    def record_note(self, teacher: str, kind: str, about: Mapping[str, Any]) -> None:
        """Store a note about a teacher beside its files."""
        self._write_json(f"teachers/{teacher}/{kind}.json", dict(about))

    def has_note(self, teacher: str, kind: str) -> bool:
        return self.storage.exists(f"teachers/{teacher}/{kind}.json")

    def identity(self, teacher: str, kind: str) -> dict[str, Any] | None:
        """A teacher's record, `teacher` or `sampling`. None if there is none. AlloyError if it is damaged."""
        name = f"teachers/{teacher}/{kind}.json"
        if not self.storage.exists(name):
            return None
        return parse_record(RECORDS[kind], self.storage.read(name), self.storage.path(name)).model_dump(
            exclude_unset=True
        )

    def _made_with(self, teacher: str, unit_kind: str) -> str:
        """Digest of what a unit of this teacher depends on: the record of this process, else that in the store."""
        return digest([self._made_of.get((teacher, k)) or self.identity(teacher, k) for k in _depends_on(unit_kind)])

    def _compare(self, whose: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        before = {field: stored.get(field) for field in wanted}
        for field, old, new in differing(before, dict(wanted)):
            raise AlloyError(
                expected=f"outputs of {whose} made with {field} = {_short(new)}",
                got=f"{field} = {_short(old)} in {self.storage.url}",
                hint=OTHER_TEACHER,
            )

    def folder_of(self, teacher: str) -> str | None:
        """Where a teacher may keep files of its own; None in a remote store."""
        return self.storage.path(f"own/{teacher}") if self.storage.is_local else None

    # Files

    def units(self, folder: str) -> set[str]:
        """Names of all units that count in the folders of a folder, without its name, such as "5/00000-5f2c….logits"."""
        names = set(self.storage.names_below(folder))
        return {n.removesuffix(".json") for n in names if n.endswith(".json") and f"{n[:-5]}.safetensors" in names}

    def save(self, unit: str, tensors: Mapping[str, Tensor], **about: Any) -> None:
        """Write a unit and then its receipt. A unit without a receipt does not count."""
        data = safetensors.torch.save({k: v.contiguous() for k, v in tensors.items()})
        parts = parsed(unit)
        made_of = self._made_with(parts.teacher, parts.kind) if parts else None
        self.storage.write(f"{unit}.safetensors", data)
        while True:
            receipt = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "made_of": made_of, **about}
            self._write_json(f"{unit}.json", receipt)
            found = self.storage.read(f"{unit}.safetensors")
            if found == data:
                return
            data = found  # another process wrote the same unit meanwhile: the receipt must match the file

    def seconds(self, teacher: str) -> float:
        """How many seconds the units of a teacher took to compute, in all processes."""
        return float(sum(self._receipt(f"teachers/{teacher}/{n}").seconds for n in self.units(f"teachers/{teacher}")))

    def load(self, unit: str) -> dict[str, Tensor]:
        """A unit's tensors, after its checksum was verified. AlloyError if it is corrupt."""
        return self._load(unit)[1]

    def _load(self, unit: str) -> tuple[Receipt, dict[str, Tensor]]:
        receipt, data = self._receipt(unit), self.storage.read(f"{unit}.safetensors")
        found = hashlib.sha256(data).hexdigest()
        if found != receipt.sha256:
            got = f"{found[:12]}… ({len(data)} bytes of {receipt.bytes})"
            raise self._corrupt(unit, f"SHA-256 {receipt.sha256[:12]}…", got)
        try:
            return receipt, dict(safetensors.torch.load(data))
        except SafetensorError as error:
            raise self._corrupt(unit, "safetensors in it", f"'{error}'") from error

    def answers(self, unit: str, rows: int) -> dict[str, Tensor]:
        """A teacher's unit of a shard with this number of rows. AlloyError if it holds other tensors than such a unit, or if it was made
        with another teacher or sampling than the recorded ones."""
        parts = parsed(unit)
        about = self.identity(parts.teacher, "teacher") if parts else None
        if parts is None or about is None:
            raise AlloyError(
                expected=f"a record of the teacher that made {unit} in {self.storage.url}",
                got="none",
                hint="Restore `teacher.json`, or delete the teacher's folder in the store and run again.",
            )
        receipt, tensors = self._load(unit)
        if problem := wrong(tensors, parts.kind, rows, TeacherRecord.model_validate(about)):
            raise self._corrupt(unit, *problem)
        if receipt.made_of != self._recorded(parts.teacher, parts.kind):
            raise AlloyError(
                expected=f"{unit} in {self.storage.url} made by the teacher that is recorded there",
                got="outputs of another teacher, or sampled with other settings",
                hint="Two processes may have filled this store with different teachers of one name. Delete "
                f"{self.storage.path(f'teachers/{parts.teacher}')} and run again.",
            )
        return tensors

    def _recorded(self, teacher: str, unit_kind: str) -> str:
        return digest([self.identity(teacher, kind) for kind in _depends_on(unit_kind)])

    def _receipt(self, unit: str) -> Receipt:
        return parse_record(Receipt, self.storage.read(f"{unit}.json"), self.storage.path(f"{unit}.json"))

    def _corrupt(self, unit: str, expected: str, got: str) -> AlloyError:
        return AlloyError(
            expected=f"{unit}.safetensors with {expected}",
            got=got,
            hint=f"The file is corrupt. Delete {self.storage.path(unit)}.json and run again: only this part is computed anew.",
        )

    def _write_json(self, name: str, value: Mapping[str, Any]) -> None:
        self.storage.write(name, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def _depends_on(unit_kind: str) -> tuple[str, ...]:
    return ("teacher", "sampling") if unit_kind == "passes" else ("teacher",)


def _digest(ids: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(ids).tobytes()).hexdigest()[:12]


def _short(value: Any) -> str:
    """A value for messages; of fingerprints the first twelve characters."""
    text = str(value)
    return f"{text[:12]}…" if len(text) == 64 else text
