"""What all students of a set share: texts, an encoder, two trained teachers, and what the method makes of their answers."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.protocol import Context
from alloykit.outputs import Source, chunks
from alloykit.progress import log_line
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.stages.prepare import prepare, stored
from alloykit.stages.prepared import Prepared
from alloykit.teaching.teach_recipes import teach_recipe
from benchmarks.harness.data import read, write
from benchmarks.harness.trimmed import trimmed
from benchmarks.models import fetch


@dataclass(frozen=True)
class Set:
    """A labelled set, cut in two teachers: the first knows the first half of the labels, the second the others; with `shared` both know
    all labels. `tokens`: of each text, at most. `taught`: texts from which the teachers learn; the pool is drawn from the others."""

    name: str
    title: str
    tokens: int
    taught: int = 1500
    pairs: bool = False
    shared: bool = False
    epochs: int = 6  # of the teachers

    def described(self) -> dict[str, Any]:
        about = {"tokens": self.tokens, "taught": self.taught, "epochs": self.epochs, "shared": self.shared}
        return about | {"pairs": self.pairs}


TEST = 600
FOREIGN = "wiki_sentences"  # fills a pool for which the set has too few texts
TEACHING = {
    "learning_rate": 3e-4,
    "batch_size": 32,
    "select": "last",
    "held_out": 0.0,
    "precision": "float32",
    "seed": 0,
}
TEACHER = {"layers": 3, "keep": "even"}


class World:
    """One set's files under `work`; they are kept between calls."""

    def __init__(self, data: Path, work: Path, about: Set) -> None:
        self.data, self.about, self.folder = data / about.name, about, work / "defaults" / about.name
        self._known: dict[int, tuple[Prepared, Source, Context]] = {}

    @cached_property
    def labels(self) -> list[str]:
        info = json.loads((self.data / "info.json").read_text(encoding="utf-8"))
        return [str(name) for name in info["label_names"]]

    @cached_property
    def rows(self) -> list[int]:
        """All rows of the training file in an order of this study's own: first the teachers', then the pool's."""
        n = len(read(self.data / "train.parquet"))
        return random.Random("defaults").sample(range(n), n)

    def part(self, name: str, size: int) -> Path:
        """`taught`, `pool` or `test`, written once."""
        path = self.folder / f"{name}-{size}.parquet"
        if not path.exists():
            table = read(self.data / ("test.parquet" if name == "test" else "train.parquet"))
            if name == "test":
                rows = random.Random("test").sample(range(len(table)), min(size, len(table)))
            else:
                rows = self.rows[:size] if name == "taught" else self.rows[self.about.taught :][:size]
            shown = table.select(rows)
            columns: dict[str, list[str | None]] = {"text": list(shown["text"])}
            if self.about.pairs:
                columns["text_pair"] = list(shown["text_pair"])
            columns["label"] = [self.labels[i] for i in shown["label"]]
            if name == "pool" and len(rows) < size:
                foreign = read(self.data.parent / FOREIGN / "train.parquet")["text"][: size - len(rows)]
                columns = {"text": [*columns["text"], *foreign], "label": [*columns["label"], *[None] * len(foreign)]}
            write(columns, path)
        return path

    @cached_property
    def encoder(self) -> Path:
        columns = ("text", "text_pair") if self.about.pairs else ("text",)

        def texts() -> list[str]:
            tables = [read(self.data / f"{file}.parquet") for file in ("train", "test")]
            return [t[:2000] for column in columns for table in tables for t in table[column]]

        return trimmed(texts, self.folder / "encoder")

    def model(self, name: str) -> Path:
        """A pretrained encoder: the trimmed bundled one without a name, or one that `benchmarks.models` fetches."""
        if not name:
            return self.encoder
        fetch(name, self.folder.parent / name)
        return self.folder.parent / name

    @cached_property
    def teachers(self) -> list[Path]:
        half = len(self.labels) // 2
        groups = [self.labels, self.labels] if self.about.shared else [self.labels[:half], self.labels[half:]]
        found = []
        for i, labels in enumerate(groups):
            training = TEACHING | {"epochs": self.about.epochs, "max_length": self.about.tokens, "seed": i}
            recipe = {
                "model": {"model": str(self.encoder), **TEACHER},
                "data": self._block(self.part("taught", self.about.taught), label=True),
                "labels": labels,
                "training": training,
                "output": str(self.folder / f"teacher{i + 1}"),
            }
            found.append(teach_recipe(parse(recipe, TeachRecipe)))
        return found

    def recipe(self, size: int, student: dict[str, Any], training: dict[str, Any], output: Path) -> Recipe:
        values = {
            "teachers": [str(t) for t in self.teachers],
            "texts": self._block(self.part("pool", size)),
            "student": {"model": str(self.encoder), "keep": "even", **student},
            "method": "alloy",
            "training": {"max_length": self.about.tokens, "precision": "float32", **training},
            "inference": {"precision": "float32"},
            "output": str(output),
        }
        return parse(values, Recipe)

    def known(self, size: int) -> tuple[Prepared, Source, Context]:
        """The teachers' answers to a pool, and what the method fitted to them; the recipe in it is to be replaced."""
        if size not in self._known:
            prepared = prepare(self.recipe(size, {"layers": 1}, {}, self.folder / "unused"))
            store = prepared.store(self.folder / "knowledge")
            sweep(prepared.infos, prepared.texts, store, prepared.sweep_options())
            source = stored(prepared, store, prepared.texts.ids())
            context = replace(prepared.context, state=prepared.method.fit(source, prepared.context))
            log_line(f"{self.about.name}: fitted to {len(prepared.texts):,} texts")
            self._known[size] = prepared, source, context
        return self._known[size]

    @cached_property
    def test(self) -> Texts:
        return load_texts(TextsOptions(**self._block(self.part("test", TEST), label=True)), want_labels=True)

    def targets(self, size: int) -> Tensor:
        """The method's target of every test text, which says its routing. [n, C]"""
        prepared, _, context = self.known(size)
        store = prepared.store(self.folder / "knowledge")
        sweep(prepared.infos, self.test, store, prepared.sweep_options())
        source = stored(prepared, store, self.test.ids())
        parts = [prepared.method.supervise(rows, context) for rows in chunks(source)]
        return torch.cat([p.targets for p in parts if p is not None])

    def _block(self, path: Path, *, label: bool = False) -> dict[str, Any]:
        block = {"path": str(path)} | ({"text_pair": "text_pair"} if self.about.pairs else {})
        return block | ({"label": "label"} if label else {})
