"""A sweep by several workers: a job is what one teacher still has to read of one shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from alloykit.data import Texts
from alloykit.engines.jobs import Job, JobEngine
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.pending import PendingShard, Shards, pending_of
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.shard import Unanswered, compute_shards, texts_from
from alloykit.knowledge.sweep.sweep import open_teacher
from alloykit.knowledge.sweep.teacher_fingerprint import has_fingerprint
from alloykit.progress import log_line
from alloykit.teachers.protocol import Answerer, TeacherInfo


@dataclass(frozen=True)
class SweepBy:
    """Computes what is missing in a store with an engine. It replaces the loop over teachers of `sweep`."""

    engine: JobEngine

    def __call__(
        self, store: Store, infos: Sequence[TeacherInfo], texts: Texts, shards: Shards, options: SweepOptions
    ) -> None:
        """AlloyError as `sweep`, and if a worker does not see the store."""
        jobs = []
        for info in infos:
            pending = [shard for shard in pending_of(store, info.name, shards, options) if shard.units]
            jobs += [Job(info.name, (info, _At(texts, shard, shards)), shard.reads) for shard in pending]
            if not pending and info.name not in store.probed and not has_fingerprint(store, info, options):
                jobs.append(Job(info.name, (info, None), 0))  # it is only compared with the store's record
        worker, missing = _Maker(store.storage.url, replace(options, engine=None)), dict[str, Unanswered]()
        for n, found in self.engine.run(jobs, worker, "sweep", "reads"):
            missing.setdefault(jobs[n].key, Unanswered()).include(found)
        for name, found in missing.items():
            if found.count:
                log_line(found.line(name, texts, shards))
        store.probed.update(info.name for info in infos if info.probed)


class _At:
    """A shard and where its texts are. Pickled, it holds the texts themselves, so that a worker needs no other file."""

    def __init__(self, texts: Texts, shard: PendingShard, shards: Shards) -> None:
        self.texts, self.shard, self.shards = texts, shard, shards

    def __reduce__(self) -> Any:
        return _Sent, (self.shard, texts_from(self.texts, self.shards)(self.shard))


@dataclass(frozen=True)
class _Sent:
    shard: PendingShard
    rows: Mapping[str, list[Any]]


@dataclass(frozen=True)
class _Maker:
    """Makes a worker. Pickled to each process of the cluster."""

    url: str
    options: SweepOptions

    def __call__(self) -> _SweepWorker:
        return _SweepWorker(self.url, self.options)


class _SweepWorker:
    """One teacher in memory at a time."""

    def __init__(self, url: str, options: SweepOptions) -> None:
        self.options, self.store = options, Store.existing(url)
        self.name = ""
        self.opened: Answerer | None = None

    def __call__(self, job: Job) -> Unanswered:
        """The texts without an answer."""
        info, sent = job.payload
        if self.name != info.name:
            self.opened = None  # its memory is needed
            self.opened, self.name = (
                open_teacher(self.store, info, self.options, probe=sent is not None or not info.costly),
                info.name,
            )
        if sent is None:
            return Unanswered()
        assert self.opened is not None
        return compute_shards(self.store, self.opened, lambda _: sent.rows, [sent.shard], self.options, lambda _: None)
