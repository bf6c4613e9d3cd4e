"""One teacher's part of a sweep: compute and write the missing units, shard by shard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import CHUNK, keeps_single_passes, logits_unit, texts_of
from alloykit.knowledge.sweep.pending import PendingShard, Shards
from alloykit.knowledge.sweep.prefetch import WriteBehind, prefetch
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.models.device import pick_device
from alloykit.models.forward import Advance
from alloykit.teachers.mc_dropout import check_varies, key
from alloykit.teachers.protocol import Answerer

SHOWN = 5  # rows without an answer that a message lists
ReadTexts = Callable[[PendingShard], Mapping[str, list[Any]]]


@dataclass
class Unanswered:
    """The texts that a teacher has no answer to: how many, and some of them, as shard and row."""

    count: int = 0
    some: list[tuple[str, int]] = field(default_factory=list)

    def add(self, shard: str, rows: Sequence[int]) -> None:
        self.count += len(rows)
        self.some = sorted([*self.some, *((shard, row) for row in rows[:SHOWN])])[:SHOWN]

    def include(self, other: Unanswered) -> None:
        self.count += other.count
        self.some = sorted([*self.some, *other.some])[:SHOWN]

    def line(self, teacher: str, texts: Texts, shards: Shards) -> str:
        """A sentence about them."""
        at = [int(shards[shard][row]) for shard, row in self.some]
        shown = ", ".join(map(str, texts.table.select(at)["source_row"])) + (", …" if self.count > SHOWN else "")
        return f"teacher {teacher}: no answer to {self.count:,} of {len(texts):,} texts (rows {shown}, counted from 0)"


def texts_from(texts: Texts, shards: Shards) -> ReadTexts:
    """Reads a shard's texts from a table."""
    columns = ["text", "text_pair"] if texts.is_pair else ["text"]
    return lambda shard: texts.table.take(shards[shard.shard], columns)


def compute_shards(
    store: Store,
    teacher: Answerer,
    read_texts: ReadTexts,
    pending: list[PendingShard],
    options: SweepOptions,
    advance: Advance,
) -> Unanswered:
    """Compute the missing units of all shards. Meanwhile the next shard is prepared and the files of the last one are written.
    Returns the texts without an answer.

    read_texts: the columns `text` and, for pairs, `text_pair` of a shard's texts.
    """

    def read(shard: PendingShard) -> tuple[PendingShard, Sequence[Any]]:
        rows = read_texts(shard)
        return shard, teacher.prepare(rows["text"], rows.get("text_pair"))

    missing = Unanswered()
    with WriteBehind() as write_behind:
        for shard, prepared in prefetch(read, (s for s in pending if s.units)):
            for unit, tensors, seconds in _compute(store, teacher, shard, prepared, options, advance):
                _check_finite(tensors, teacher)
                if unit.endswith(".logits"):
                    missing.add(shard.shard, torch.nonzero(tensors["logits"].isnan().any(-1)).flatten().tolist())
                about = {
                    "seconds": round(seconds, 3),
                    "torch": torch.__version__,
                    "threads": torch.get_num_threads(),
                    "device": pick_device(options.device),
                    **teacher.about,
                }
                write_behind(store.save, unit, tensors, **about)
    return missing


def _compute(
    store: Store,
    teacher: Answerer,
    shard: PendingShard,
    prepared: Sequence[Any],
    options: SweepOptions,
    advance: Advance,
) -> Iterator[tuple[str, dict[str, Tensor], float]]:
    """(unit, tensors, seconds) one after another."""
    name, plain = teacher.info.name, None
    pooled = {int(u.rsplit("-", 1)[1]): u for u in shard.units if ".pooled-" in u}
    logits = [u for u in shard.units if u.endswith(".logits")]
    if logits or pooled:  # of one pass
        begun = time.perf_counter()
        output = teacher.answer(prepared, advance, list(pooled))
        plain = output.logits if logits else None
        seconds = (time.perf_counter() - begun) / (len(logits) + len(pooled))
        yield from ((unit, {"logits": output.logits}, seconds) for unit in logits)
        if output.pooled is not None:
            yield from ((unit, {"pooled": output.pooled[n]}, seconds) for n, unit in enumerate(pooled.values()))
    for unit in shard.units:
        if unit not in logits and unit not in pooled.values():
            begun = time.perf_counter()
            seed = key(options.seed, name, texts_of(shard.shard), int(unit.rsplit("-", 1)[1]))
            sampled = teacher.sample(prepared, CHUNK, seed, advance)
            if plain is None:
                plain = store.answers(logits_unit(name, shard.shard), shard.rows)["logits"]
            check_varies(plain.softmax(-1), sampled, name)
            single = keeps_single_passes(unit, sampled.shape[-1], options.passes)
            yield unit, _kept(sampled, single=single), time.perf_counter() - begun


def _kept(sampled: Tensor, *, single: bool) -> dict[str, Tensor]:
    """The stored tensors of a chunk of passes, [CHUNK, R, C_i]: sum and number of passes, and the single passes if they are to be kept."""
    tensors = {"probability_sum": sampled.sum(0), "passes": torch.full((sampled.shape[1],), CHUNK, dtype=torch.int32)}
    return tensors | ({"per_pass": sampled} if single else {})


def _check_finite(tensors: dict[str, Tensor], teacher: Answerer) -> None:
    """AlloyError for NaN and infinity. A text without an answer is a whole row of NaN, where the teacher may give none."""
    for tensor in tensors.values():
        finite = tensor.isfinite()
        if not teacher.info.gives.every_text:
            finite = finite | tensor.isnan().all(-1, keepdim=True)
        if bool(finite.all()):
            continue
        raise AlloyError(
            expected=f"finite outputs from teacher '{teacher.info.name}'",
            got="NaN or infinity",
            hint="Its weights are damaged or were saved in too small a number format."
            if teacher.info.gives.model
            else "A text without an answer must be NaN for every label; all other numbers must be finite.",
        )
