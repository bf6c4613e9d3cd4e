"""A sweep by several workers: a job is what one teacher still has to read of one shard.

A worker that sees the store writes the units itself. Another one sends them, and the driver writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from alloykit.data import Texts
from alloykit.engines.jobs import Job, JobEngine
from alloykit.engines.sent_units import SentUnits, private_store, put_unit, sent_units, sighting_of, unit_files
from alloykit.knowledge.store.storage import Storage
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import logits_unit, parsed
from alloykit.knowledge.sweep.pending import PendingShard, Shards, pending_of
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.shard import Unanswered, compute_shards, texts_from
from alloykit.knowledge.sweep.sweep import open_teacher
from alloykit.knowledge.sweep.teacher_fingerprint import has_fingerprint
from alloykit.progress import log_line
from alloykit.teachers.protocol import Answerer, TeacherInfo


@dataclass(frozen=True)
class SweepBy:
    """Computes what is missing in a store with an engine. It replaces the loop over teachers of `sweep`. device: of the workers. Default: that of the
    sweep's options."""

    engine: JobEngine
    device: str | None = None

    def __call__(
        self, store: Store, infos: Sequence[TeacherInfo], texts: Texts, shards: Shards, options: SweepOptions
    ) -> None:
        """AlloyError as `sweep`, and if a worker does not see a remote store."""
        jobs, by_name = [], {info.name: info for info in infos}
        for info in infos:
            pending = [shard for shard in pending_of(store, info.name, shards, options) if shard.units]
            jobs += [Job(info.name, _At(texts, shard, shards, store), shard.reads) for shard in pending]
            if not pending and info.name not in store.probed and not has_fingerprint(store, info, options):
                jobs.append(Job(info.name, None, 0))  # it is only compared with the store's record
        storage, missing = store.storage, dict[str, Unanswered]()
        place = storage.root if storage.is_local else storage.url  # whole, also if the url is relative
        theirs = replace(options, engine=None, device=self.device or options.device)
        worker = _Maker(place, sighting_of(storage), store.shard_rows, theirs, by_name)
        for n, (found, sent) in self.engine.run(jobs, worker, "sweep", "reads"):
            missing.setdefault(jobs[n].key, Unanswered()).include(found)
            if sent is not None:
                sent.write(store, by_name[jobs[n].key])
        for info in infos:  # a worker that repeated a job was killed, perhaps while it wrote
            storage.remove_left_over(f"teachers/{info.name}")
        for name, found in missing.items():
            if found.count:
                log_line(found.line(name, texts, shards))
        store.probed.update(info.name for info in infos if info.probed)


class _At:
    """A shard and where its texts are. Pickled, it holds the texts themselves, so that a worker needs no other file."""

    def __init__(self, texts: Texts, shard: PendingShard, shards: Shards, store: Store) -> None:
        self.texts, self.shard, self.shards, self.store = texts, shard, shards, store

    def __reduce__(self) -> Any:
        return _Sent, (self.shard, texts_from(self.texts, self.shards)(self.shard), self._logits())

    def _logits(self) -> dict[str, bytes]:
        """The stored logits, if the passes are compared with them, and if a worker may not see the store."""
        about = parsed(self.shard.units[0])
        unit = logits_unit(about.teacher, self.shard.shard) if about else ""
        if unit in self.shard.units or not self.store.storage.is_local:
            return {}
        return unit_files(self.store, unit)


@dataclass(frozen=True)
class _Sent:
    shard: PendingShard
    rows: Mapping[str, list[Any]]
    logits: Mapping[str, bytes]


@dataclass(frozen=True)
class _Maker:
    """Makes a worker. Pickled to each process of the cluster. `sighting`: what the driver sees of a local store."""

    place: str
    sighting: tuple[int, ...] | None
    shard_rows: int
    options: SweepOptions
    infos: Mapping[str, TeacherInfo]

    def __call__(self) -> _SweepWorker:
        return _SweepWorker(self)


class _SweepWorker:
    """One teacher in memory at a time. Its results: the texts without an answer, and the units, if it does not see the store."""

    def __init__(self, made: _Maker) -> None:
        self.options, self.infos = made.options, made.infos
        self.sends = made.sighting is not None and sighting_of(Storage(made.place)) != made.sighting
        self.store = private_store(made.shard_rows) if self.sends else Store.existing(made.place)
        self.name = ""
        self.opened: Answerer | None = None

    def __call__(self, job: Job) -> tuple[Unanswered, SentUnits | None]:
        info, sent = self.infos[job.key], job.payload
        if self.name != info.name:
            self.opened = None  # its memory is needed
            self.opened, self.name = (
                open_teacher(self.store, info, self.options, probe=sent is not None or not info.costly),
                info.name,
            )
        found = Unanswered()
        if sent is not None:
            assert self.opened is not None
            if self.sends:
                put_unit(self.store, sent.logits)
            found = compute_shards(
                self.store, self.opened, lambda _: sent.rows, [sent.shard], self.options, lambda _: None
            )
        return found, sent_units(self.store, info.name, sent.logits if sent else ()) if self.sends else None
