"""Remember which teachers were compared with the store, so that a finished sweep does not load them again.

The SHA-256 of a teacher's files identifies it, which is faster than loading it. The note means: these files with these options are the
teacher of `teacher.json` and `sampling.json`.
"""

from __future__ import annotations

from typing import Any

from alloykit.digests import digest
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.teachers.protocol import TeacherInfo


def has_fingerprint(store: Store, info: TeacherInfo, options: SweepOptions) -> bool:
    """Whether this teacher, with these options, was already compared with the store's files."""
    return store.has_note(info.name, _mark(store, info, options))


def record_fingerprint(store: Store, info: TeacherInfo, options: SweepOptions) -> None:
    """Record this after the teacher was loaded and compared."""
    mark = _mark(store, info, options)
    if not store.has_note(info.name, mark):
        store.record_note(info.name, mark, {"source": info.spec.source})


def _mark(store: Store, info: TeacherInfo, options: SweepOptions) -> str:
    reading: list[Any] = [options.max_length, options.dropout, options.compute_format.name]
    if (reads := info.reads(options.max_length, options.long_texts)) != (options.max_length, "head"):
        reading += reads
    if options.passes:
        reading += [options.seed, options.tokens_per_batch, store.identity(info.name, "sampling")]
    if info.rows_of_texts is not None:
        reading.append(info.rows_of_texts)
    made_of = [info.identity(), reading, store.identity(info.name, "teacher")]
    return f"fingerprint-{digest(made_of)[:16]}"
