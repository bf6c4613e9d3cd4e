"""Small sweeps, and what they left on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tiny
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from alloykit.data import Texts, load_texts
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.teachers.hugging_face import HuggingFaceInfo, HuggingFaceSpec, read_teacher_info

OPTIONS = SweepOptions(passes=4, max_length=32, tokens_per_batch=256)
SENTENCES = tiny.texts(40)


def info(folder: Path, name: str | None = None) -> HuggingFaceInfo:
    return read_teacher_info(HuggingFaceSpec(model=str(folder)), name or folder.name)


def table(texts: Sequence[Any]) -> Texts:
    return load_texts(list(texts))


def swept(
    where: Path | str,
    infos: Sequence[HuggingFaceInfo],
    texts: Sequence[Any] = SENTENCES,
    *,
    shard_rows: int = 16,
    salt: str = "",
    **options: Any,
) -> Store:
    """A store after a sweep of these texts."""
    store = Store(where, shard_rows=shard_rows, salt=salt)
    sweep(infos, table(texts), store, replace(OPTIONS, **options))
    return store


def read(
    store: Store, names: Sequence[str], texts: Sequence[Any] = SENTENCES, passes: int = 0, **more: Any
) -> StoredKnowledge:
    return StoredKnowledge(store, names, ids(texts), passes=passes, **more)


def shard(store: Store | Path, number: int) -> str:
    """The name of the n-th shard."""
    return list((Store(store) if isinstance(store, Path) else store).shards())[number]


def recorded(store: Store, teacher: str, classes: int) -> None:
    """Record what a made-up teacher's made-up answers were made with."""
    made = {"weights": 64 * "a", "tokenizer": 64 * "b", "max_length": 32, "compute_format": "float32", "width": 16}
    store.identify(teacher, "teacher", made | {"classes": classes})
    store.identify(teacher, "sampling", {"sampler": "none", "dropout": None, "seed": 0, "tokens_per_batch": 1})


def ids(texts: Sequence[Any]) -> list[str]:
    return list(table(texts).table["id"])


@torch.inference_mode()
def direct(folder: Path, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> Tensor:
    """The model's own logits, one text at a time, without anything of alloykit; a pair of None is none. [n, C_i]"""
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    for i, text in enumerate(texts):
        pair = None if pairs is None else pairs[i]
        given = [text] if pair is None else [(text, pair)]  # as a list, because ("text", "") alone would lose its pair
        batch = tokenizer(given, truncation=True, max_length=OPTIONS.max_length, return_tensors="pt")
        rows.append(model(**batch).logits[0])
    return torch.stack(rows)


def arrays(folder: Path) -> dict[str, bytes]:
    """Every safetensors file below a folder, by its path: receipts, which say how long it took, are left out."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.safetensors"))}


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file below a folder."""
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def untouched(before: dict[str, tuple[bytes, int]], folder: Path) -> list[str]:
    """Names of the files that are new; all others must be exactly as they were."""
    after = files(folder)
    assert {name: after.get(name) for name in before} == before
    return sorted(set(after) - set(before))
