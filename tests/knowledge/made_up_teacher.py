"""A teacher that computes nothing, and a sweep with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from knowing import SENTENCES, table
from torch import Tensor

from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep

OPTIONS = SweepOptions(max_length=32)
MODEL = {"weights": 64 * "a", "tokenizer": 64 * "b", "max_length": 32, "compute_format": "float32", "classes": 2}


class Teacher:
    """A teacher and its description in one. It answers to the n-th text with `row`, if it is given."""

    labels, tolerance, rows_of_texts, about, sampler = ("a", "b"), 0.01, None, {"more": 1}, "none"
    spec = SimpleNamespace(source="here")

    def __init__(
        self, *, probed: bool = False, costly: bool = False, every_text: bool = True, name: str = "t", **made_of: Any
    ) -> None:
        self.name, self.probed, self.costly, self.made_of = name, probed, costly, MODEL | made_of
        self.gives = SimpleNamespace(states=None, every_text=every_text, model=every_text)
        self.loaded, self.asked, self.prepared = 0, 0, list[int]()
        self.row: list[float] | None = None
        self.reading: Any = None

    @property
    def info(self) -> Teacher:
        return self

    def load(self, reading: Any) -> Teacher:
        self.loaded, self.reading = self.loaded + 1, reading
        return self

    def identity(self) -> str:
        return "x"

    def reads(self, max_length: int, long_texts: str) -> tuple[int, str]:
        return max_length, "head"

    def prepare(self, texts: list[str], pairs: Any) -> list[str]:
        self.prepared.append(len(texts))
        return texts

    def answer(self, texts: list[str], advance: Any, layers: list[int]) -> Any:
        logits = torch.zeros(len(texts), 2)
        if self.row is not None:
            logits[1] = torch.tensor(self.row)
        return SimpleNamespace(logits=logits, pooled=None)

    def sample(self, texts: list[str], passes: int, seed: int, advance: Any) -> Tensor:
        return torch.rand(passes, len(texts), 2, generator=torch.Generator().manual_seed(seed)).softmax(-1)

    def probe(self, texts: Any) -> Any:
        self.asked += 1
        return SimpleNamespace(logits=torch.zeros(len(texts), 2))


def run(teacher: Any, url: Path | str, texts: int = 10, store: Store | None = None, **options: Any) -> dict[str, float]:
    more = {key: options.pop(key) for key in ("sampler", "loaded") if key in options}
    store = store or Store(url, shard_rows=4)
    return sweep([teacher], table(SENTENCES[:texts]), store, replace(OPTIONS, **options), **more)
