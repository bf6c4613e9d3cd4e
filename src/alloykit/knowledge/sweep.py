"""The sweep: every teacher reads every text once, and once more per Monte-Carlo pass. One teacher in memory at a time."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Sequence
from dataclasses import asdict

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.fill import fill
from alloykit.knowledge.options import SweepOptions
from alloykit.knowledge.rounds import summarise
from alloykit.knowledge.sampling import Sampler, StockDropout, choose_sampler
from alloykit.knowledge.store import CHUNK, Store
from alloykit.knowledge.verified import is_verified, verified
from alloykit.knowledge.work import give_rows, is_summarised, rows_to_read, shards_of, unit_bytes, work_of
from alloykit.progress import bar, say
from alloykit.teachers.teacher import Teacher, TeacherInfo
from alloykit.uncertainty.adaptive import ROUNDS


def sweep(
    infos: Sequence[TeacherInfo],
    texts: Texts,
    store: Store,
    options: SweepOptions,
    *,
    sampler: Sampler | None = None,
) -> None:
    """Fill the store with everything that is missing for these texts. Killed and started again, it goes on.

    Raises AlloyError for another teacher's store, zero variance over the passes, outputs that are not finite, too little
    memory for a single text, or a full disk.
    """
    ids = texts.ids()
    names, rule = [info.name for info in infos], options.adaptive
    give_rows(store, ids, names, options)
    shards = shards_of(store, ids, options.part)
    del ids
    passes = ROUNDS[-1] if rule else -(-options.passes // CHUNK) * CHUNK
    rows = rows_to_read(store, names, shards, rule, 0)
    needed = sum(
        unit_bytes(unit, len(shard.rows), len(info.labels), width=info.config.hidden_size)
        for info in infos
        for shard in work_of(store, info.name, shards, options, rows, 0)
        for unit in shard.units
    )
    _check_space(store, needed)
    say(
        f"sweep: {len(infos)} teachers × {len(texts):,} texts × (1 plain + {'at most ' if rule else ''}{passes} Monte-Carlo "
        f"passes), {needed / 1e6:,.1f} MB to write in {store.storage.url}"
    )
    for round_ in range(len(ROUNDS) if rule else 1):
        rows = rows_to_read(store, names, shards, rule, round_) if round_ else rows
        for info in infos:
            work = work_of(store, info.name, shards, options, rows, round_)
            if not any(shard.units for shard in work) and (
                round_ or (sampler is None and is_verified(store, info, options, names))
            ):
                continue
            teacher = Teacher.load(
                info,
                max_length=options.max_length,
                dropout=options.dropout,
                device=options.device,
                numbers=options.numbers,
            )
            drawing = sampler or (choose_sampler(teacher) if passes else StockDropout())
            _identify(store, teacher, options, drawing, names)
            if sampler is None:
                verified(store, info, options, names)
            what = f"teacher {info.name}" + (f", round {round_ + 1} of {len(ROUNDS)}" if rule else "")
            with bar(what, sum(shard.reads for shard in work), "reads") as advance:
                fill(store, teacher, texts, work, options, drawing, advance)
            del teacher
            gc.collect()
    if rule:
        for number, at in shards.items():
            if not is_summarised(store, names, number):
                summarise(store, names, number, len(at), rule)


def _check_space(store: Store, needed: int) -> None:
    if not store.storage.is_local:
        return
    free = shutil.disk_usage(store.storage.root).free
    if free < needed:
        raise AlloyError(
            expected=f"{needed / 1e6:,.1f} MB of free space for the knowledge store at {store.storage.url}",
            got=f"{free / 1e6:,.1f} MB",
            hint="Free some space, choose another output, or lower `passes`.",
        )


def _identify(store: Store, teacher: Teacher, options: SweepOptions, sampler: Sampler, names: list[str]) -> None:
    reading = teacher.fingerprint | {"max_length": teacher.max_length, "numbers": teacher.numbers.name}
    store.identify(teacher.info.name, "teacher", reading)
    if options.passes or options.adaptive:
        sampling = {
            "sampler": sampler.name,
            "dropout": options.dropout,
            "seed": options.seed,
            "tokens_per_batch": options.tokens_per_batch,
            # Which texts get more passes depends on what all teachers said.
            "adaptive": asdict(options.adaptive) | {"teachers": names} if options.adaptive else None,
        }
        store.identify(teacher.info.name, "sampling", sampling)
