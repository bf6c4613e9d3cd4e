"""The sweep: every teacher reads every text once, and once more per Monte-Carlo pass. One teacher in memory at a time."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Sequence

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import CHUNK
from alloykit.knowledge.sweep.pending import part_of, pending_of, shards_for, unit_bytes
from alloykit.knowledge.sweep.probe import check_probe
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.shard import compute_shards
from alloykit.knowledge.sweep.teacher_fingerprint import has_fingerprint, record_fingerprint
from alloykit.progress import bar, say
from alloykit.teachers.mc_dropout import Sampler
from alloykit.teachers.protocol import Answerer, TeacherInfo


def sweep(
    infos: Sequence[TeacherInfo],
    texts: Texts,
    store: Store,
    options: SweepOptions,
    *,
    sampler: Sampler | None = None,
) -> None:
    """Compute all missing outputs for these texts. A killed sweep continues where it stopped.

    Raises AlloyError for another teacher's store, zero variance over the passes, outputs that are not finite, too little
    memory for a single text, or a full disk.
    """
    ids = texts.ids()
    shards = part_of(shards_for(store, ids, [info.name for info in infos], options), options.part)
    del ids
    passes = -(-options.passes // CHUNK) * CHUNK
    needed = sum(
        unit_bytes(
            unit, len(shard.texts), len(info.labels), width=info.gives.states.hidden_size if info.gives.states else 0
        )
        for info in infos
        for shard in pending_of(store, info.name, shards, options)
        for unit in shard.units
    )
    _check_space(store, needed)
    say(
        f"sweep: {len(infos)} teachers × {len(texts):,} texts × (1 plain + {passes} Monte-Carlo "
        f"passes), {needed / 1e6:,.1f} MB to write in {store.storage.url}"
    )
    for info in infos:
        pending = pending_of(store, info.name, shards, options)
        finished = not any(shard.units for shard in pending)
        if finished and sampler is None and not info.probed and has_fingerprint(store, info, options):
            continue
        if finished and info.probed and info.name in store.probed:
            continue
        teacher = info.load(options.reading(folder=store.folder_of(info.name), sampler=sampler))
        _identify(store, teacher, options)
        if info.probed:
            check_probe(store, teacher)
        elif sampler is None:
            record_fingerprint(store, info, options)
        with bar(f"teacher {info.name}", sum(shard.reads for shard in pending), "reads") as advance:
            compute_shards(store, teacher, texts, pending, options, advance)
        del teacher
        gc.collect()


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
    store.identify(teacher.info.name, "teacher", teacher.made_of)
    if options.passes:
        sampling = {
            "sampler": teacher.sampler,
            "dropout": options.dropout,
            "seed": options.seed,
            "tokens_per_batch": options.tokens_per_batch,
        }
        store.identify(teacher.info.name, "sampling", sampling)
