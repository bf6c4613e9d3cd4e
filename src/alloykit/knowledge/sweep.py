"""The sweep: every teacher reads every text once, and once more per Monte-Carlo pass. One teacher in memory at a time."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.ahead import Behind, ahead
from alloykit.knowledge.compute import Advance, Budget, plain_pass, sampled_passes
from alloykit.knowledge.index import RowIndex
from alloykit.knowledge.rounds import open_rows, starts_of, summarise
from alloykit.knowledge.sampling import Sampler, StockDropout, check_varies, choose_sampler, key
from alloykit.knowledge.store import (
    CHUNK,
    PER_PASS_CLASSES,
    Store,
    adaptive_unit,
    logits_unit,
    passes_unit,
    round_unit,
)  # fmt: skip
from alloykit.progress import bar, say
from alloykit.teachers.numbers import Numbers
from alloykit.teachers.teacher import Teacher, TeacherInfo
from alloykit.uncertainty.adaptive import ROUNDS, Rule


@dataclass(frozen=True)
class SweepOptions:
    """What is asked of every teacher. `adaptive`: passes in rounds, as many as this rule wants, instead of `passes` for every
    text. `part` = (i, n): this process takes every n-th shard, starting with the i-th."""

    passes: int = 0
    adaptive: Rule | None = None
    dropout: float | None = None
    max_length: int = 128
    seed: int = 0
    tokens_per_batch: int = 4096
    device: str = "cpu"
    part: tuple[int, int] = (0, 1)
    numbers: Numbers = field(default_factory=Numbers)


Shards = dict[int, np.ndarray[Any, Any]]
"""Per shard and row the position of its text in the table, −1 where the text is not in it."""


@dataclass(frozen=True)
class _Shard:
    """One shard's work for one teacher. `texts`: for each row the position of its text in the table. `rows`: those that are
    computed, all but in later rounds. `units`: what is missing."""

    number: int
    texts: np.ndarray[Any, Any]
    rows: np.ndarray[Any, Any]
    units: list[str]

    @property
    def reads(self) -> int:
        return sum(len(self.rows) * (1 if unit.endswith(".logits") else CHUNK) for unit in self.units)


def bytes_needed(n_texts: int, classes: Sequence[int], passes: int, adaptive: bool = False) -> int:
    """Size of the arrays that a sweep writes, and of the text ids; adaptive passes counted as if all texts needed them all."""
    units = [".logits", *(".passes" for _ in range(0, passes, CHUNK)), *([".adaptive"] if adaptive else [])]
    return 16 * n_texts + sum(_unit_bytes(unit, n_texts, c, keep=adaptive) for c in classes for unit in units)


def _unit_bytes(unit: str, rows: int, classes: int, keep: bool = False) -> int:
    if ".logits" in unit:
        return 4 * classes * rows
    if ".adaptive" in unit:
        return (4 * classes + 20) * rows
    kept = CHUNK * classes if keep or classes <= PER_PASS_CLASSES else 0
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

    Raises AlloyError for another teacher's store, zero variance over the passes, outputs that are not finite, too little
    memory for a single text, or a full disk.
    """
    ids = texts.ids()
    store.add(ids)
    shards = _shards_of(store, ids, options.part)
    del ids
    names, rule = [info.name for info in infos], options.adaptive
    passes = ROUNDS[-1] if rule else -(-options.passes // CHUNK) * CHUNK
    open_ = _open(store, names, shards, rule, 0)
    needed = sum(
        _unit_bytes(unit, len(shard.rows), len(info.labels))
        for info in infos
        for shard in _work(store, info.name, shards, options, open_, 0)
        for unit in shard.units
    )
    _check_space(store, needed)
    say(
        f"sweep: {len(infos)} teachers × {len(texts):,} texts × (1 plain + {'at most ' if rule else ''}{passes} Monte-Carlo "
        f"passes), {needed / 1e6:,.1f} MB to write in {store.storage.url}"
    )
    for round_ in range(len(ROUNDS) if rule else 1):
        open_ = _open(store, names, shards, rule, round_) if round_ else open_
        for info in infos:
            work = _work(store, info.name, shards, options, open_, round_)
            if round_ and not any(shard.units for shard in work):
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
            what = f"teacher {info.name}" + (f", round {round_ + 1} of {len(ROUNDS)}" if rule else "")
            with bar(what, sum(shard.reads for shard in work), "reads") as advance:
                _fill(store, teacher, texts, work, options, drawing, advance)
            del teacher
            gc.collect()
    if rule:
        for number, at in shards.items():
            if not _summarised(store, names, number):
                summarise(store, names, number, len(at), rule)


def _open(
    store: Store, names: list[str], shards: Shards, rule: Rule | None, round_: int
) -> dict[int, np.ndarray[Any, Any]]:
    """Per shard the rows that (this round of) the passes read."""
    if rule is None:
        return {number: np.arange(len(at), dtype=np.int32) for number, at in shards.items()}
    done = np.empty(0, dtype=np.int32)
    return {
        number: done if _summarised(store, names, number) else open_rows(store, names, number, len(at), rule, round_)
        for number, at in shards.items()
    }


def _summarised(store: Store, names: list[str], shard: int) -> bool:
    return all(store.has(adaptive_unit(name, shard)) for name in names)


def _work(
    store: Store,
    teacher: str,
    shards: Shards,
    options: SweepOptions,
    open_: dict[int, np.ndarray[Any, Any]],
    round_: int,
) -> list[_Shard]:
    """What one teacher has to do: all of it, or in one round of adaptive passes."""
    found = []
    for number, at in shards.items():
        units = [] if round_ else [logits_unit(teacher, number)]
        rows = open_[number]
        if options.adaptive is None:
            units += [passes_unit(teacher, number, start) for start in range(0, options.passes, CHUNK)]
        elif len(rows):
            units += [round_unit(teacher, number, start) for start in starts_of(round_)]
        units = [unit for unit in units if not store.has(unit)]
        if units and (at < 0).any():
            raise AlloyError(
                expected=f"all {len(at)} texts of shard {number}, which is not finished yet",
                got=f"{int((at >= 0).sum())} of them",
                hint="The texts changed since the sweep began. Sweep the old texts to the end, or use another folder.",
            )
        # A new teacher beside finished ones has its plain pass to make, over all rows.
        found.append(_Shard(number, at, rows if len(rows) else np.arange(len(at), dtype=np.int32), units))
    return found


def _fill(
    store: Store,
    teacher: Teacher,
    texts: Texts,
    work: list[_Shard],
    options: SweepOptions,
    sampler: Sampler,
    advance: Advance,
) -> None:
    """Compute the missing units of all shards: the next shard's tokens are made, and the last one's files written, meanwhile."""
    columns = ["text", "text_pair"] if texts.is_pair else ["text"]
    budget = Budget(options.tokens_per_batch)

    def read(shard: _Shard) -> tuple[_Shard, list[dict[str, list[int]]]]:
        rows = texts.table.take(shard.texts[shard.rows], columns)
        return shard, teacher.encode(rows["text"], rows.get("text_pair"))

    with Behind() as behind:
        for shard, encodings in ahead(read, (s for s in work if s.units)):
            plain: Tensor | None = None
            for unit in shard.units:
                begun = time.perf_counter()
                if unit.endswith(".logits"):
                    plain = plain_pass(teacher, encodings, budget, advance)
                    tensors = {"logits": plain}
                else:
                    kind, start = unit.rsplit(".", 1)[1].split("-")
                    seed = key(options.seed, teacher.info.name, shard.number, int(start))
                    sampled = sampled_passes(teacher, encodings, budget, sampler, seed, advance)
                    if plain is None:
                        plain = store.load(logits_unit(teacher.info.name, shard.number))["logits"]
                    check_varies(plain[torch.from_numpy(shard.rows).long()].softmax(-1), sampled, teacher.info.name)
                    tensors = _kept(sampled, shard.rows, kind)
                _check_finite(tensors, teacher)
                about = {
                    "seconds": round(time.perf_counter() - begun, 3),
                    "torch": torch.__version__,
                    "threads": torch.get_num_threads(),
                    "device": options.device,
                    "tokens_per_batch": budget.tokens,
                }
                behind(store.save, unit, tensors, **about)


def _kept(sampled: Tensor, rows: np.ndarray[Any, Any], kind: str) -> dict[str, Tensor]:
    """What is stored of a chunk of passes: adaptive ones singly, since later rounds need them; others singly where small."""
    if kind == "round":
        return {"rows": torch.from_numpy(rows), "per_pass": sampled}
    tensors = {"probability_sum": sampled.sum(0), "passes": torch.full((len(rows),), CHUNK, dtype=torch.int32)}
    return tensors | ({"per_pass": sampled} if sampled.shape[-1] <= PER_PASS_CLASSES else {})


def _check_finite(tensors: dict[str, Tensor], teacher: Teacher) -> None:
    if not all(bool(t.isfinite().all()) for t in tensors.values()):
        raise AlloyError(
            expected=f"finite outputs from teacher '{teacher.info.name}'",
            got="NaN or infinity",
            hint="Its weights are damaged or were saved in too small a number format.",
        )


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


def _shards_of(store: Store, ids: np.ndarray[Any, Any], part: tuple[int, int]) -> Shards:
    """This process's shards that hold any of the texts."""
    shards = store.shards()
    starts = np.cumsum([0] + [len(shard) for shard in shards])
    rows = RowIndex(shards).find(ids)
    position = np.full(starts[-1], -1, dtype=np.int32)
    position[rows] = np.arange(len(rows), dtype=np.int32)  # of a text that occurs several times, any will do
    found = {n: position[starts[n] : starts[n + 1]] for n in range(part[0], len(shards), part[1])}
    return {n: at for n, at in found.items() if (at >= 0).any()}
