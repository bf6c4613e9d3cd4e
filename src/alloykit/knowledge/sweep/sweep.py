"""The sweep: every teacher reads every text once, and once more per Monte-Carlo pass. One teacher in memory at a time."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Mapping, Sequence

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import CHUNK
from alloykit.knowledge.sweep.mc_dropout import Sampler, StockDropout, choose_sampler
from alloykit.knowledge.sweep.pending import part_of, pending_of, shards_for, unit_bytes
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.shard import compute_shards, texts_from
from alloykit.knowledge.sweep.teacher_fingerprint import has_fingerprint, record_fingerprint
from alloykit.progress import bar, log_line
from alloykit.teachers.hugging_face import Teacher, TeacherInfo


def sweep(
    infos: Sequence[TeacherInfo],
    texts: Texts,
    store: Store,
    options: SweepOptions,
    *,
    sampler: Sampler | None = None,
    loaded: Mapping[str, Teacher] | None = None,
) -> dict[str, float]:
    """Compute all missing outputs for these texts. A killed sweep continues where it stopped. Returns the reads per second of each teacher
    that has read something in this process; nothing if an engine computes.

    loaded: teachers that are in memory already, by name; they stay there.
    Raises AlloyError for another teacher's store, zero variance over the passes, outputs that are not finite, too little
    memory for a single text, or a full disk.
    """
    ids = texts.ids()
    shards = part_of(shards_for(store, ids, [info.name for info in infos], options), options.part)
    del ids
    passes = -(-options.passes // CHUNK) * CHUNK
    needed = sum(
        unit_bytes(unit, len(shard.texts), len(info.labels), width=info.config.hidden_size)
        for info in infos
        for shard in pending_of(store, info.name, shards, options)
        for unit in shard.units
    )
    _check_space(store, needed)
    log_line(
        f"sweep: {len(infos)} teachers × {len(texts):,} texts × (1 plain + {passes} Monte-Carlo "
        f"passes), {needed / 1e6:,.1f} MB to write in {store.storage.url}"
    )
    if options.engine is not None and sampler is None and loaded is None:
        options.engine(store, infos, texts, shards, options)
        return {}
    speed: dict[str, float] = {}
    for info in infos:
        pending = pending_of(store, info.name, shards, options)
        if not any(shard.units for shard in pending) and sampler is None and has_fingerprint(store, info, options):
            continue
        teacher, drawing = open_teacher(store, info, options, sampler, (loaded or {}).get(info.name))
        reads, begun = sum(shard.reads for shard in pending), time.perf_counter()
        with bar(f"teacher {info.name}", reads, "reads") as advance:
            compute_shards(store, teacher, texts_from(texts), pending, options, drawing, advance)
        if reads:
            speed[info.name] = reads / (time.perf_counter() - begun)
        del teacher
        gc.collect()
    return speed


def load_teacher(info: TeacherInfo, options: SweepOptions) -> Teacher:
    """The teacher as a sweep with these options needs it. AlloyError."""
    return Teacher.load(
        info,
        max_length=options.max_length,
        dropout=options.dropout,
        device=options.device,
        compute_format=options.compute_format,
    )


def open_teacher(
    store: Store,
    info: TeacherInfo,
    options: SweepOptions,
    sampler: Sampler | None = None,
    loaded: Teacher | None = None,
) -> tuple[Teacher, Sampler]:
    """Load a teacher, choose its sampler, and compare both with what the store's outputs were made with. AlloyError.

    loaded: the teacher, if it is in memory already.
    """
    teacher = load_teacher(info, options) if loaded is None else loaded
    drawing = sampler or (choose_sampler(teacher) if options.passes else StockDropout())
    _identify(store, teacher, options, drawing)
    if sampler is None and loaded is None:
        record_fingerprint(store, info, options)
    return teacher, drawing


def _check_space(store: Store, needed: int) -> None:
    if not store.storage.is_local:
        return
    free = shutil.disk_usage(store.storage.root).free
    if free < needed:
        raise AlloyError(
            expected=f"{needed / 1e6:,.1f} MB of free space for the cache at {store.storage.url}",
            got=f"{free / 1e6:,.1f} MB",
            hint="Free some space, choose another output, or lower `passes`.",
        )


def _identify(store: Store, teacher: Teacher, options: SweepOptions, sampler: Sampler) -> None:
    reading = teacher.fingerprint | {
        "max_length": teacher.max_length,
        "compute_format": teacher.compute_format.name,
        "classes": len(teacher.info.labels),
        "width": int(teacher.info.config.hidden_size),
    }
    store.identify(teacher.info.name, "teacher", reading)
    if options.passes:
        sampling = {
            "sampler": sampler.name,
            "dropout": options.dropout,
            "seed": options.seed,
            "tokens_per_batch": options.tokens_per_batch,
        }
        store.identify(teacher.info.name, "sampling", sampling)
