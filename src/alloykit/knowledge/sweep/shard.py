"""One teacher's part of a sweep: compute and write the missing units, shard by shard."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import CHUNK, PER_PASS_CLASSES, logits_unit, texts_of
from alloykit.knowledge.sweep.forward import plain_and_pooled, sampled_passes
from alloykit.knowledge.sweep.mc_dropout import Sampler, check_varies, key
from alloykit.knowledge.sweep.pending import PendingShard
from alloykit.knowledge.sweep.prefetch import WriteBehind, prefetch
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.models.forward import Advance, Budget
from alloykit.models.tokens import Encodings
from alloykit.teachers.hugging_face import Teacher

ReadTexts = Callable[[PendingShard], Mapping[str, list[Any]]]


def texts_from(texts: Texts) -> ReadTexts:
    """Reads a shard's texts from a table."""
    columns = ["text", "text_pair"] if texts.is_pair else ["text"]
    return lambda shard: texts.table.take(shard.texts, columns)


def compute_shards(
    store: Store,
    teacher: Teacher,
    read_texts: ReadTexts,
    pending: list[PendingShard],
    options: SweepOptions,
    sampler: Sampler,
    advance: Advance,
) -> None:
    """Compute the missing units of all shards. Meanwhile the next shard is tokenised and the files of the last one are written.

    read_texts: the columns `text` and, for pairs, `text_pair` of a shard's texts.
    """
    budget = Budget(options.tokens_per_batch)

    def read(shard: PendingShard) -> tuple[PendingShard, Encodings]:
        rows = read_texts(shard)
        return shard, teacher.encode(rows["text"], rows.get("text_pair"))

    with WriteBehind() as write_behind:
        for shard, encodings in prefetch(read, (s for s in pending if s.units)):
            for unit, tensors, seconds in _compute(store, teacher, shard, encodings, options, sampler, budget, advance):
                _check_finite(tensors, teacher)
                about = {
                    "seconds": round(seconds, 3),
                    "torch": torch.__version__,
                    "threads": torch.get_num_threads(),
                    "device": options.device,
                    "tokens_per_batch": budget.tokens,
                }
                write_behind(store.save, unit, tensors, **about)


def _compute(
    store: Store, teacher: Teacher, shard: PendingShard, encodings: Encodings, options: SweepOptions, sampler: Sampler,
    budget: Budget, advance: Advance,
) -> Any:  # fmt: skip
    """(unit, tensors, seconds) one after another."""
    name, plain = teacher.info.name, None
    pooled = {int(u.rsplit("-", 1)[1]): u for u in shard.units if ".pooled-" in u}
    logits = [u for u in shard.units if u.endswith(".logits")]
    if logits or pooled:  # of one pass
        begun = time.perf_counter()
        output, states = plain_and_pooled(teacher, encodings, list(pooled), budget, advance)
        plain = output if logits else None
        seconds = (time.perf_counter() - begun) / (len(logits) + len(pooled))
        yield from ((unit, {"logits": output}, seconds) for unit in logits)
        yield from ((unit, {"pooled": states[n]}, seconds) for n, unit in enumerate(pooled.values()))
    for unit in shard.units:
        if unit not in logits and unit not in pooled.values():
            begun = time.perf_counter()
            seed = key(options.seed, name, texts_of(shard.shard), int(unit.rsplit("-", 1)[1]))
            sampled = sampled_passes(teacher, encodings, budget, sampler, seed, advance)
            if plain is None:
                plain = store.answers(logits_unit(name, shard.shard), len(shard.texts))["logits"]
            check_varies(plain.softmax(-1), sampled, name)
            yield unit, _kept(sampled), time.perf_counter() - begun


def _kept(sampled: Tensor) -> dict[str, Tensor]:
    """The stored tensors of a chunk of passes, [CHUNK, R, C_i]: sum and number of passes, and single passes if there are few classes."""
    tensors = {"probability_sum": sampled.sum(0), "passes": torch.full((sampled.shape[1],), CHUNK, dtype=torch.int32)}
    return tensors | ({"per_pass": sampled} if sampled.shape[-1] <= PER_PASS_CLASSES else {})


def _check_finite(tensors: dict[str, Tensor], teacher: Teacher) -> None:
    if not all(bool(t.isfinite().all()) for t in tensors.values()):
        raise AlloyError(
            expected=f"finite outputs from teacher '{teacher.info.name}'",
            got="NaN or infinity",
            hint="Its weights are damaged or were saved in too small a number format.",
        )
