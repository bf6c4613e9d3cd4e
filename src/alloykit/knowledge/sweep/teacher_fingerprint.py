"""Which teachers have been compared with a store's files before, so that a finished sweep need not load them again.

A teacher is known by the SHA-256 of its folder's files, which costs less than loading it. The note says: these files, read with these
options, are what `teacher.json` and `sampling.json` describe.
"""

from __future__ import annotations

from typing import Any

from alloykit.files import digest
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.models.location import model_identity
from alloykit.teachers.hugging_face import TeacherInfo


def has_fingerprint(store: Store, info: TeacherInfo, options: SweepOptions) -> bool:
    """Whether this very teacher, read in this way, was found to be the one behind the store's files."""
    return store.is_noted(info.name, _mark(store, info, options))


def record_fingerprint(store: Store, info: TeacherInfo, options: SweepOptions) -> None:
    """Note it, after the teacher was loaded and compared."""
    mark = _mark(store, info, options)
    if not store.is_noted(info.name, mark):
        store.note(info.name, mark, {"source": info.spec.model})


def _mark(store: Store, info: TeacherInfo, options: SweepOptions) -> str:
    reading: list[Any] = [options.max_length, options.dropout, options.compute_format.name]
    if options.passes:
        reading += [options.seed, options.tokens_per_batch, store.identity(info.name, "sampling")]
    made_of = [model_identity(info.spec.model, info.revision), reading, store.identity(info.name, "teacher")]
    return f"fingerprint-{digest(made_of)[:16]}"
