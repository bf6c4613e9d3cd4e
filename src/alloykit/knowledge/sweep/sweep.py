"""The sweep: every teacher reads every text once, and once more per Monte-Carlo pass. One teacher in memory at a time."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import CHUNK
from alloykit.knowledge.sweep.pending import pending_of, shards_for, unit_bytes
from alloykit.knowledge.sweep.probe import check_probe
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.shard import compute_shards, texts_from
from alloykit.knowledge.sweep.teacher_fingerprint import has_fingerprint, record_fingerprint
from alloykit.models.primitive_cache import limit_primitive_cache
from alloykit.names import counted
from alloykit.progress import bar, log_line
from alloykit.teachers.mc_dropout import Sampler
from alloykit.teachers.protocol import Answerer, TeacherInfo

LATER = ("config", "tokenizer_settings")  # an earlier version did not record them: its outputs stay valid


def sweep(
    infos: Sequence[TeacherInfo],
    texts: Texts,
    store: Store,
    options: SweepOptions,
    *,
    sampler: Sampler | None = None,
    loaded: Mapping[str, Answerer] | None = None,
) -> dict[str, float]:
    """Compute all missing outputs for these texts. A killed sweep continues where it stopped. Returns the reads per second of each teacher
    that has read something in this process; nothing if an engine computes.

    loaded: teachers that are in memory already, by name; they stay there.
    Raises AlloyError for another teacher's store, zero variance over the passes, outputs that are not finite, too little
    memory for a single text, or a full disk.
    """
    shards = shards_for(store, texts.ids(), [info.name for info in infos], options).part(options.part)
    passes = -(-options.passes // CHUNK) * CHUNK
    needed = sum(
        unit_bytes(unit, shard.rows, len(info.labels), options.passes, width=states.hidden_size if states else 0)
        for info in infos
        for states in [info.gives.states]
        for shard in pending_of(store, info.name, shards, options)
        for unit in shard.units
    )
    _check_space(store, needed)
    log_line(
        f"sweep: {counted(len(infos), 'teacher')} × {counted(len(texts), 'text')} × (1 plain + {passes} Monte-Carlo "
        f"passes), {needed / 1e6:,.1f} MB to write in {store.storage.url}"
    )
    if options.engine is not None and sampler is None and loaded is None:
        options.engine(store, infos, texts, shards, options)
        return {}
    speed: dict[str, float] = {}
    for info in infos:
        pending = pending_of(store, info.name, shards, options)
        finished = not any(shard.units for shard in pending)
        if finished and sampler is None and not info.probed and has_fingerprint(store, info, options):
            continue
        if finished and info.probed and info.name in store.probed:
            continue
        teacher = open_teacher(
            store, info, options, sampler, (loaded or {}).get(info.name), probe=not (finished and info.costly)
        )
        reads, begun = sum(shard.reads for shard in pending), time.perf_counter()
        with bar(f"teacher {info.name}", reads, "reads") as advance:
            missing = compute_shards(store, teacher, texts_from(texts, shards), pending, options, advance)
        if missing.count:
            log_line(missing.line(info.name, texts, shards))
        if reads:
            speed[info.name] = reads / (time.perf_counter() - begun)
        del teacher
        gc.collect()
    return speed


def open_teacher(
    store: Store,
    info: TeacherInfo,
    options: SweepOptions,
    sampler: Sampler | None = None,
    loaded: Answerer | None = None,
    *,
    probe: bool,
) -> Answerer:
    """Load a teacher, and compare it and its sampler with what the store's outputs were made with. AlloyError.

    loaded: the teacher, if it is in memory already. probe: ask the probe texts of a teacher without a hash.
    """
    limit_primitive_cache()  # the process will read many texts, and perhaps train a student
    teacher = loaded or info.load(replace(options, folder=store.folder_of(info.name), sampler=sampler))
    _identify(store, teacher, options)
    if loaded is not None:
        return teacher
    if info.probed:
        if probe:
            check_probe(store, teacher)
    elif sampler is None:
        record_fingerprint(store, info, options)
    return teacher


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


def _identify(store: Store, teacher: Answerer, options: SweepOptions) -> None:
    made_of = teacher.made_of
    recorded = store.identity(teacher.info.name, "teacher") or {}
    if recorded:
        made_of = {key: value for key, value in made_of.items() if key in recorded or key not in LATER}
    if "long_texts" in recorded:
        made_of = {"long_texts": "head"} | made_of  # a teacher that reads the beginning does not name it
    if "rows_of_texts" in recorded:  # `evaluate` has not read the texts whose rows the teacher knows
        made_of = {"rows_of_texts": recorded["rows_of_texts"]} | made_of
    store.identify(teacher.info.name, "teacher", made_of)
    if options.passes:
        sampling = {
            "sampler": teacher.sampler,
            "dropout": options.dropout,
            "seed": options.seed,
            "tokens_per_batch": options.tokens_per_batch,
        }
        store.identify(teacher.info.name, "sampling", sampling)
