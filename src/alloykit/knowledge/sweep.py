"""The sweep: every teacher reads every text once, and once more per Monte-Carlo pass. One teacher in memory at a time."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.batches import token_batches
from alloykit.knowledge.reader import find_rows
from alloykit.knowledge.sampling import Sampler, check_varies, choose_sampler, key
from alloykit.knowledge.store import CHUNK, PER_PASS_CLASSES, Store, logits_unit, passes_unit
from alloykit.progress import bar, say
from alloykit.teachers.teacher import Teacher, TeacherInfo


@dataclass(frozen=True)
class SweepOptions:
    """What is asked of every teacher. `part` = (i, n): this process takes every n-th shard, starting with the i-th."""

    passes: int = 0
    dropout: float | None = None
    max_length: int = 128
    seed: int = 0
    tokens_per_batch: int = 4096
    device: str = "cpu"
    part: tuple[int, int] = (0, 1)


def bytes_needed(n_texts: int, classes: Sequence[int], passes: int) -> int:
    """Size of the arrays that a sweep writes, and of the text ids."""
    units = [".logits", *(".passes" for _ in range(0, passes, CHUNK))]
    return 16 * n_texts + sum(_unit_bytes(unit, n_texts, c) for c in classes for unit in units)


def _unit_bytes(unit: str, rows: int, classes: int) -> int:
    if ".logits" in unit:
        return 4 * classes * rows
    kept = CHUNK * classes if classes <= PER_PASS_CLASSES else 0
    return 4 * (classes + 1 + kept) * rows


def sweep(
    infos: Sequence[TeacherInfo],
    texts: Texts,
    store: Store,
    options: SweepOptions,
    *,
    sampler: Sampler | None = None,
) -> None:
    """Fill the store with everything that is missing for these texts. Killed and started again, it goes on.

    Raises AlloyError for another teacher's store, zero variance over the passes, outputs that are not finite, or a full disk.
    """
    starts = range(0, options.passes, CHUNK)
    store.add(texts.table["id"])
    shards = store.shards()
    lookup = _row_texts(texts, shards)
    mine = [s for s in range(len(shards)) if s % options.part[1] == options.part[0] and lookup[s]]
    todo = {info.name: {s: _missing_units(store, info.name, s, starts) for s in mine} for info in infos}
    needed = sum(
        _unit_bytes(unit, len(shards[s]), len(info.labels))
        for info in infos
        for s, units in todo[info.name].items()
        for unit in units
    )
    _check_space(store, needed)
    say(
        f"sweep: {len(infos)} teachers × {len(texts):,} texts × (1 plain + {len(starts) * CHUNK} Monte-Carlo passes), "
        f"{needed / 1e6:,.1f} MB to write in {store.storage.url}"
    )
    for info in infos:
        teacher = Teacher.load(info, max_length=options.max_length, dropout=options.dropout, device=options.device)
        drawing = sampler or choose_sampler(teacher)
        _identify(store, teacher, options, drawing)
        missing = todo[info.name]
        reads = sum(
            len(shards[s]) * (1 if ".logits" in unit else CHUNK) for s, units in missing.items() for unit in units
        )
        if reads:
            with bar(f"teacher {info.name}", reads, "reads") as advance:
                for s, units in missing.items():
                    if units:
                        _fill(store, teacher, s, len(shards[s]), lookup[s], units, options, drawing, advance)
        del teacher
        gc.collect()


def _check_space(store: Store, needed: int) -> None:
    if not store.storage.is_local or not needed:
        return
    free = shutil.disk_usage(store.storage.root).free
    if free < needed:
        raise AlloyError(
            expected=f"{needed / 1e6:,.1f} MB of free space for the knowledge store at {store.storage.url}",
            got=f"{free / 1e6:,.1f} MB",
            hint="Free some space, choose another output, or lower `passes`.",
        )


def _fill(
    store: Store,
    teacher: Teacher,
    shard: int,
    n_rows: int,
    rows: list[tuple[int, str, str | None]],
    units: list[str],
    options: SweepOptions,
    sampler: Sampler,
    advance: Callable[[int], None],
) -> None:
    """Compute the missing units of one shard."""
    if len(rows) != n_rows:
        raise AlloyError(
            expected=f"all {n_rows} texts of shard {shard}, which is not finished yet",
            got=f"{len(rows)} of them",
            hint="The texts changed since the sweep began. Sweep the old texts to the end, or use another folder.",
        )
    texts = [text for _, text, _ in rows]
    pairs = [pair for _, _, pair in rows]
    encodings = teacher.encode(texts, pairs)
    plan = token_batches([len(e["input_ids"]) for e in encodings], options.tokens_per_batch)
    name = teacher.info.name
    for unit in units:
        begun = time.perf_counter()
        if unit.endswith(".logits"):
            tensors = {"logits": _plain(teacher, encodings, plan, advance)}
        else:
            start = int(unit.rsplit("-", 1)[1])
            seed = key(options.seed, name, shard, start)
            sampled = _passes(teacher, encodings, plan, seed, sampler, advance)
            plain = store.load(logits_unit(name, shard))["logits"].softmax(-1)
            check_varies(plain, sampled, name)
            tensors = {"probability_sum": sampled.sum(0), "passes": torch.full((n_rows,), CHUNK, dtype=torch.int32)}
            if sampled.shape[-1] <= PER_PASS_CLASSES:
                tensors["per_pass"] = sampled
        if not all(bool(t.isfinite().all()) for t in tensors.values()):
            raise AlloyError(
                expected=f"finite outputs from teacher '{name}'",
                got="NaN or infinity",
                hint="Its weights are damaged or were saved in too small a number format.",
            )
        about = {"seconds": round(time.perf_counter() - begun, 3), "torch": torch.__version__}
        store.save(unit, tensors, threads=torch.get_num_threads(), device=options.device, **about)


@torch.inference_mode()
def _plain(teacher: Teacher, encodings: list[Any], plan: list[list[int]], advance: Callable[[int], None]) -> Tensor:
    out = torch.empty(len(encodings), len(teacher.info.labels))
    for rows in plan:
        out[rows] = teacher.model(**teacher.batch([encodings[i] for i in rows])).logits.float().cpu()
        advance(len(rows))
    return out


@torch.inference_mode()
def _passes(
    teacher: Teacher,
    encodings: list[Any],
    plan: list[list[int]],
    seed: int,
    sampler: Sampler,
    advance: Callable[[int], None],
) -> Tensor:
    out = torch.empty(CHUNK, len(encodings), len(teacher.info.labels))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for rows in plan:
            out[:, rows] = sampler.sample(teacher.model, teacher.batch([encodings[i] for i in rows]), CHUNK)
            advance(CHUNK * len(rows))
    return out


def _identify(store: Store, teacher: Teacher, options: SweepOptions, sampler: Sampler) -> None:
    reading = teacher.fingerprint() | {"max_length": teacher.max_length, "dtype": str(teacher.model.dtype)}
    store.identify(teacher.info.name, "teacher", reading)
    if options.passes:
        sampling = {
            "sampler": sampler.name,
            "dropout": options.dropout,
            "seed": options.seed,
            "tokens_per_batch": options.tokens_per_batch,
        }
        store.identify(teacher.info.name, "sampling", sampling)


def _missing_units(store: Store, teacher: str, shard: int, starts: range) -> list[str]:
    units = [logits_unit(teacher, shard), *(passes_unit(teacher, shard, start) for start in starts)]
    return [unit for unit in units if not store.has(unit)]


def _row_texts(texts: Texts, shards: Sequence[Any]) -> list[list[tuple[int, str, str | None]]]:
    """Per shard, (position, text, pair) of the rows that these texts fill, in order, each once."""
    table = texts.table
    ids = list(table["id"])
    first = {i: n for n, i in reversed(list(enumerate(ids)))}
    starts = np.cumsum([0] + [len(shard) for shard in shards])
    rows = find_rows(np.concatenate(shards), list(first))
    found: list[list[tuple[int, str, str | None]]] = [[] for _ in shards]
    order = np.argsort(rows, kind="stable")
    where, sources = np.searchsorted(starts, rows, side="right") - 1, list(first.values())
    all_texts = table["text"]
    all_pairs = table["text_pair"] if texts.is_pair else None
    for k in order:
        n = sources[k]
        found[where[k]].append((int(rows[k] - starts[where[k]]), all_texts[n], all_pairs[n] if all_pairs else None))
    return found
