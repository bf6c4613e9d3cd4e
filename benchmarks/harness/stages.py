"""What cells share: teachers are trained once per data set and seed, and read each text once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.jobs.prepare import Prepared, prepare
from alloykit.jobs.teach import teach
from alloykit.knowledge.reader import StoredKnowledge
from alloykit.knowledge.sweep import sweep
from alloykit.recipe import Recipe, TeachRecipe, parse
from benchmarks.harness.data import DataSet, Files
from benchmarks.harness.profiles import Profile


class Stages:
    """The shared stages of one data set and seed; `folder` keeps them between calls."""

    def __init__(
        self, data: Path, work: Path, dataset: DataSet, profile: Profile, seed: int, teachers: int = 2, passes: int = 16
    ) -> None:
        self.passes = passes
        self.dataset, self.profile, self.seed = dataset, profile, seed
        self.folder = work / profile.name / dataset.name / f"seed{seed}"
        self.files = Files(data, self.folder / "texts", dataset, profile, seed)
        self.groups = dataset.split(teachers)
        self._taught: dict[Path, list[Path]] = {}
        self._swept: set[str] = set()

    def teacher_folders(self, pool: str) -> list[Path]:
        """Fine-tune the teachers that this pool's students learn from, or find them finished."""
        texts = self.files.teachers(pool)
        if texts in self._taught:
            return self._taught[texts]
        folders = []
        for i, labels in enumerate(self.groups):
            folder = self.folder / texts.stem / f"teacher{i + 1}"
            recipe = {
                "model": self.profile.encoder,
                "data": self.labelled(texts),
                "labels": labels,
                "training": self.training(self.profile.teacher, 100 * self.seed + i),
                "output": str(folder),
            }
            folders.append(teach(parse(recipe, TeachRecipe)))
        self._taught[texts] = folders
        return folders

    def recipe(self, pool: str, method: dict[str, Any], output: Path) -> Recipe:
        labels = method["name"] == "supervised"
        texts = self.files.pool(pool)
        values = {
            "teachers": [{"model": str(folder), "name": folder.name} for folder in self.teacher_folders(pool)],
            "texts": self.labelled(texts) if labels else {"path": str(texts)},
            "student": self.profile.encoder,
            "method": method,
            "training": self.training(self.profile.student, self.seed),
            "knowledge": {"seed": self.seed, "precision": self.profile.precision},
            "evaluate": {"data": self.labelled(self.files.test())},
            "output": str(output),
        }
        return parse(values, Recipe)

    def training(self, settings: dict[str, Any], seed: int) -> dict[str, Any]:
        return {**settings, "max_length": self.profile.max_length, "precision": self.profile.precision, "seed": seed}

    def knowledge(self, pool: str) -> Path:
        """One store for all pools and methods of the same teachers."""
        return self.folder / self.files.teachers(pool).stem / "knowledge"

    def ready(self, pool: str) -> Path:
        """Let the teachers read all that this pool's cells ask for: the pool and the test texts."""
        for path in () if pool in self._swept else (self.files.pool(pool), self.files.test()):
            prepared = self.prepared(pool, self.read(path, labelled=False))
            store = prepared.store(self.knowledge(pool))
            sweep(prepared.infos, prepared.texts, store, prepared.sweep_options())
        self._swept.add(pool)
        return self.knowledge(pool)

    def prepared(self, pool: str, texts: Texts, method: dict[str, Any] | None = None) -> Prepared:
        """Teachers, label space and method, for some texts in place of the pool."""
        routing = {"name": "routing", "of": {"name": "muka", "passes": self.passes}}
        return prepare(self.recipe(pool, method or routing, self.folder / "unused"), texts)

    def said(self, pool: str, texts: Texts, method: dict[str, Any] | None = None) -> tuple[Prepared, StoredKnowledge]:
        """What the teachers said about texts that `ready` has swept, with labels where the texts have them."""
        prepared = self.prepared(pool, texts, method)
        labels = prepared.labels(texts) if texts.has_labels else None
        source = StoredKnowledge(
            prepared.store(self.knowledge(pool)),
            prepared.names,
            texts.table["id"],
            passes=prepared.method.needs.read,
            labels=labels,
        )
        return prepared, source

    def read(self, path: Path, labelled: bool) -> Texts:
        """The texts of a part; with `labelled` only those that have a label."""
        return load_texts(
            TextsOptions(**(self.labelled(path) if labelled else {"path": str(path)})), want_labels=labelled
        )

    def labelled(self, path: Path) -> dict[str, Any]:
        return {"path": str(path), "label": "label", "label_names": list(self.dataset.labels)}
