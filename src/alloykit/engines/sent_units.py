"""Units that a worker sends, because it does not see the driver's store: it keeps them in memory, and the driver writes them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import safetensors.torch

from alloykit.knowledge.store.storage import Storage
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.probe import compare_probe
from alloykit.teachers.protocol import TeacherInfo

OF_RECEIPT = ("sha256", "bytes", "made_of")  # what `Store.save` writes into a receipt itself


@dataclass(frozen=True)
class SentUnits:
    """What a worker found for one teacher. `identities`: by kind, what the outputs depend on. `notes`: by kind. `units`: by name, the bytes of
    the safetensors file, and what the receipt says beside its checksum."""

    identities: Mapping[str, dict[str, Any]]
    notes: Mapping[str, dict[str, Any]]
    units: Mapping[str, tuple[bytes, dict[str, Any]]]

    def write(self, store: Store, info: TeacherInfo) -> None:
        """Write all into the driver's store. AlloyError if its outputs were made by another teacher or with other settings."""
        name = info.name
        for kind in ("teacher", "sampling"):
            if kind in self.identities:
                store.identify(name, kind, self.identities[kind])
        if "probe" in self.identities:
            compare_probe(store, info, self.identities["probe"]["answers"])
        for kind, note in self.notes.items():
            if not store.has_note(name, kind):
                store.record_note(name, kind, note)
        for unit, (data, about) in self.units.items():
            store.save(unit, safetensors.torch.load(data), **about)


def sighting_of(storage: Storage) -> tuple[int, ...] | None:
    """What a process sees of a local store. Two processes that see the same store see the same. None for a remote store, which all reach.

    A copy of the store at the same place on another machine differs in the file's number or its time of change.
    """
    if not storage.is_local:
        return None
    try:
        found = os.stat(storage.path("manifest.json"))
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def private_store(shard_rows: int) -> Store:
    """A store in this process's memory."""
    return Store(f"memory://alloykit-{uuid.uuid4().hex}", shard_rows=shard_rows)


def unit_files(store: Store, unit: str) -> dict[str, bytes]:
    """The files of a unit, by their names."""
    return {name: store.storage.read(name) for name in (f"{unit}.safetensors", f"{unit}.json")}


def put_unit(store: Store, files: Mapping[str, bytes]) -> None:
    """Write files of a unit as `unit_files` read them."""
    for name, data in files.items():
        store.storage.write(name, data)


def sent_units(store: Store, teacher: str, had: Collection[str]) -> SentUnits:
    """What a private store has of a teacher. Its units are removed from it. had: files that the driver has sent."""
    folder, units = f"teachers/{teacher}", dict[str, tuple[bytes, dict[str, Any]]]()
    for name in sorted(store.units(folder)):
        unit = f"{folder}/{name}"
        data, receipt = unit_files(store, unit).values()
        about = {key: value for key, value in json.loads(receipt).items() if key not in OF_RECEIPT}
        if f"{unit}.json" not in had:
            units[unit] = data, about
        for part in ("safetensors", "json"):
            store.storage.remove(f"{unit}.{part}")
    identities = {kind: found for kind in ("teacher", "sampling", "probe") if (found := store.identity(teacher, kind))}
    marks = [name.removesuffix(".json") for name in store.storage.names(folder) if name.startswith("fingerprint-")]
    notes = {mark: json.loads(store.storage.read(f"{folder}/{mark}.json")) for mark in marks}
    return SentUnits(identities, notes, units)
