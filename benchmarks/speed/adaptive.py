"""Adaptive passes against an independent K = 64 on three sets: methods.md §7's acceptance test, with fixed K = 16 beside it.

A mismatch is a text whose most confident teacher is another one than after 64 jackknifed passes. Adaptive passes are accepted
if on each set the upper 95 % bound of (their mismatches − those of fixed K = 16) is at most 0.3 points, plain and weighted by
v, and a text takes at most 8 passes in the mean. Bounds are from 2,000 bootstrap samples of the texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.data import load_texts
from alloykit.knowledge.index import RowIndex
from alloykit.knowledge.options import SweepOptions
from alloykit.knowledge.reader import StoredKnowledge
from alloykit.knowledge.store import Passes, Store
from alloykit.knowledge.sweep import sweep
from alloykit.precision import choose_precision
from alloykit.rows import chunks
from alloykit.teachers.numbers import Numbers
from alloykit.teachers.teacher import TeacherSpec, describe
from alloykit.uncertainty.adaptive import Rule, jackknifed_entropy
from alloykit.uncertainty.entropy import confidence
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.settings import split
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement, device

SETS = ("ag_news", "abstracts5", "google_snippets")
TEXTS, TRUTH, FIXED, SEED, TAU = 3000, 64, 16, 0, 0.2
LIMIT, MOST = 0.003, 8.0
BOOTSTRAP = 2000


def run(data: Path, work: Path) -> dict[str, Any]:
    found = {name: _one(data, work, name) for name in SETS}
    return {"sets": found, "accepted": {m: all(f[m]["accepted"] for f in found.values()) for m in ("hard", "soft")}}


def _one(data: Path, work: Path, name: str) -> dict[str, Any]:
    stages = Stages(data, work.parent, split(name, 2), SMALL, SEED)
    infos = [describe(TeacherSpec(model=str(f)), f.name) for f in stages.teacher_folders("shared")]
    texts = load_texts(str(data / name / "train.parquet"), limit=TEXTS)
    ids, precision = texts.ids(), choose_precision("auto", device())
    folder = work / "adaptive" / f"{name}-{precision}"

    def swept(kind: str, seed: int, **how: Any) -> Store:
        store = Store(folder / kind)
        options = SweepOptions(
            max_length=SMALL.max_length, seed=seed, device=device(), numbers=Numbers(precision), **how
        )
        sweep(infos, texts, store, options)
        return store

    names = [info.name for info in infos]
    truth = _jackknifed(swept("truth", 1000, passes=TRUTH), names, ids)
    fixed_c, _ = _read(swept("fixed", 2000, passes=FIXED), names, ids, FIXED)
    result: dict[str, Any] = {"texts": len(texts), "v": round(float(_margin(truth).mean()), 3)}
    for mode in ("hard", "soft"):
        store = swept(mode, 3000, adaptive=Rule(mode, TAU))  # type: ignore[arg-type]
        c, k = _read(store, names, ids, "adaptive")
        result[mode] = _judge(c, fixed_c, truth) | {"mean_passes": round(float(k.double().mean()), 2)}
        result[mode]["share_by_passes"] = {int(n): round(float((k == n).double().mean()), 3) for n in k.unique()}
        bounds = (result[mode]["difference"]["to"], result[mode]["difference_weighted"]["to"])
        result[mode]["accepted"] = max(bounds) <= LIMIT and result[mode]["mean_passes"] <= MOST
        w = [torch.softmax(x / TAU, -1) for x in (c, fixed_c, truth)]
        result[mode]["weights_off"] = {
            "adaptive": round(float((w[0] - w[2]).abs().amax(-1).mean()), 4),
            "fixed": round(float((w[1] - w[2]).abs().amax(-1).mean()), 4),
        }
    return result


def _jackknifed(store: Store, names: list[str], ids: Any) -> Tensor:
    """1 − u from all of the stored single passes, in the order of the texts. [n, N] float64"""
    c = []
    for name in names:
        parts = []
        for shard in range(len(store.shards())):
            units = [store.load(f"teachers/{name}/{shard:05d}.passes-{s:04d}")["per_pass"] for s in range(0, TRUTH, 4)]
            parts.append(1 - jackknifed_entropy(torch.cat(units)))
        c.append(torch.cat(parts))
    by_row = torch.stack(c, -1)
    return by_row[torch.from_numpy(RowIndex(store.shards()).find(ids)).long()]


def _read(store: Store, names: list[str], ids: Any, passes: Passes) -> tuple[Tensor, Tensor]:
    """Confidences as MUKA would have them, [n, N], and passes per text, [n]."""
    c, k = [], []
    for rows in chunks(StoredKnowledge(store, names, ids, passes=passes)):
        if passes == "adaptive":
            c.append(torch.stack([1 - t.uncertainty.double() for t in rows.teachers], -1))
        else:
            c.append(torch.stack([confidence(t.mean_probabilities()) for t in rows.teachers], -1))
        k.append(rows.teachers[0].passes)
    return torch.cat(c), torch.cat(k)


def _margin(c: Tensor) -> Tensor:
    top = c.topk(2, -1).values
    return top[:, 0] - top[:, 1]


def _judge(adaptive: Tensor, fixed: Tensor, truth: Tensor) -> dict[str, Any]:
    owner, v = truth.argmax(-1), _margin(truth).numpy()
    wrong = [(c.argmax(-1) != owner).double().numpy() for c in (adaptive, fixed)]
    rng = np.random.default_rng(0)
    samples = rng.integers(len(v), size=(BOOTSTRAP, len(v)))

    def difference(weight: np.ndarray) -> dict[str, float]:
        each = (weight * (wrong[0] - wrong[1]))[samples].mean(1) / weight[samples].mean(1)
        return {
            "mean": round(float((weight * (wrong[0] - wrong[1])).mean() / weight.mean()), 5),
            "to": round(float(np.quantile(each, 0.95)), 5),
        }

    return {
        "mismatch": {"adaptive": round(float(wrong[0].mean()), 4), "fixed": round(float(wrong[1].mean()), 4)},
        "difference": difference(np.ones_like(v)),
        "difference_weighted": difference(v),
    }


TABLE = Measurement("adaptive", "adaptive passes against K = 64", run)
