"""What cells share: teachers are trained once per setting and seed, and read each text once."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.generation.generation_options import GenerationOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.registry import create
from alloykit.models.device import pick_device
from alloykit.outputs import Source
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from alloykit.stages.generated_texts import write_texts
from alloykit.stages.knowledge import with_text_states
from alloykit.stages.prepare import prepare, stored
from alloykit.stages.prepared import Prepared
from alloykit.stages.recipe_texts import TEXTS_FILE, generated_folder
from alloykit.teachers.hugging_face import HuggingFaceSpec
from alloykit.teaching.teach_recipes import teach_recipe, teach_together_recipe
from benchmarks.harness.data import DATA_FREE, FOREIGN_SHARE, NATURAL, SKEWED, UNSEEN_FOREIGN, Files, read, write
from benchmarks.harness.learned_texts import learned_texts
from benchmarks.harness.profiles import TRIMMED, Profile
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, TeacherPlan
from benchmarks.harness.trimmed import trimmed

PLAIN = {"name": "routing", "of": {"name": "muka", "passes": 0}}


class Stages:
    """The shared stages of one setting and seed; folders under `work` keep them between calls."""

    def __init__(
        self,
        data: Path,
        work: Path,
        setting: Setting,
        profile: Profile,
        seed: int,
        *,
        passes: int | Mapping[str, int] = 16,
        reads: Sequence[dict[str, Any]] = (),
        generation: dict[str, Any] | None = None,
    ) -> None:
        profile = profile.of_size(setting.datasets)
        self.passes, self.work, self.reads = passes, work, reads
        self.setting, self.profile, self.seed = setting, profile, seed
        self.generation = self.per_class(
            (generation or {}) | profile.of_sets(setting.datasets, "generation") | dict(setting.generation)
        )
        root = work / f"{profile.name}-{profile.precision}-{profile.texts}-{profile.test}"
        self.folder = root / setting.name / f"seed{seed}"
        self.shared = root / (setting.teachers_of or setting.name) / f"seed{seed}"
        self.encoders, texts = root / "encoders", root / "texts"
        self.files = {
            name: Files(data, texts / name / f"seed{seed}", SETS[name], profile, seed) for name in setting.datasets
        }
        self._taught: dict[str, list[Path]] = {}
        self._swept: set[tuple[str, bool]] = set()

    def teacher_folders(self, pool: str) -> list[Path]:
        """Fine-tune the teachers that this pool's students learn from, or find them finished."""
        key = self._teachers(pool)
        if key not in self._taught:
            together, n = self.setting.together, len(self.setting.teachers)
            self._taught[key] = self._together(pool) if together else [self._teacher(i, pool) for i in range(n)]
        return self._taught[key]

    def _teacher(self, i: int, pool: str) -> Path:
        plan = self.setting.teachers[i]
        texts = self.files[plan.dataset].teachers(self._own(pool))
        recipe: dict[str, Any] = {
            "model": self.encoder(plan.encoder),
            "data": self.labelled(learned_texts(plan, texts, self.shared / "texts", i)),
            "labels": list(plan.learned),
            "training": self.training(self._teaching(plan), 100 * self.seed + i),
            "output": str(self.shared / self._teachers(pool) / f"teacher{i + 1}"),
        }
        if recipe["training"].get("select") == "labelled":
            recipe["validation"] = {"data": self.labelled(self.files[plan.dataset].validation())}
        return teach_recipe(parse(recipe, TeachRecipe))

    def encoder(self, role: str, *, student: bool = False) -> dict[str, Any]:
        """A role's `model:` block, or its `student:` block. A trimmed encoder is made for the texts of these data sets and this seed."""
        block = self.profile.encoder(role, self.work, student=student)
        if block["model"] != TRIMMED:
            return block
        folder = self.encoders / "-".join((*self.files, *self._without_foreign)) / f"seed{self.seed}"
        return block | {"model": str(trimmed(self._known_texts, folder, self.profile.max_length))}

    def _known_texts(self) -> list[str]:
        """All texts that teachers and students of this seed may read."""
        found = [text for files in self.files.values() for text in files.known_texts()]
        for files in () if self._without_foreign else self.files.values():
            for share in (FOREIGN_SHARE, *UNSEEN_FOREIGN.values()):
                found += files.foreign(round(share * files.unseen))["text"]
        return found

    @property
    def _without_foreign(self) -> tuple[str, ...]:
        """Not empty if there are no foreign texts. Then no pool can have them, and an encoder does not need their word pieces."""
        return () if all(files.has_foreign for files in self.files.values()) else ("alone",)

    def _teaching(self, plan: TeacherPlan) -> dict[str, Any]:
        usual = self.profile.teacher | self.profile.of_sets([plan.dataset], "teacher") | self.profile.rate(plan.encoder)
        if plan.flaw != "barely":
            return usual
        return usual | {"epochs": usual["epochs"] / 3, "learning_rate": usual["learning_rate"] / 2}

    def _together(self, pool: str) -> list[Path]:
        plans = self.setting.teachers
        settings = {k: v for k, v in self.profile.teacher.items() if k != "select"} | {"select": "last"}
        recipe = {
            "models": [self.encoder(plan.encoder) for plan in plans],
            "names": [f"teacher{i + 1}" for i in range(len(plans))],
            "data": self.labelled(self.files[plans[0].dataset].teachers(pool)),
            "labels": list(plans[0].labels),
            "training": self.training(settings, 100 * self.seed),
            "output": str(self.shared / self._teachers(pool) / "together"),
        }
        return teach_together_recipe(parse(recipe, TogetherRecipe))

    def recipe(
        self,
        pool: str,
        method: dict[str, Any],
        output: Path,
        student: str | None = None,
        few: int | None = None,
        **training: Any,
    ) -> Recipe:
        """`few`: the number of labelled texts for every label, as `labelled:`. A method that learns from labels then gets only these texts."""
        texts, role = self.pool(pool), student or self.setting.student
        learning = (
            self.profile.student | self.profile.of_sets(self.setting.datasets, "student") | self.profile.rate(role)
        )
        learns_labels = create(method).needs.labels
        if few is not None and learns_labels:
            texts = self.few(few)
        values = {
            "teachers": [{"model": str(folder), "name": folder.name} for folder in self.teacher_folders(pool)],
            "texts": self.labelled(texts) if learns_labels else self.unlabelled(texts),
            "labels": self.setting.joined,
            "student": self.encoder(role, student=True),
            "method": method,
            "training": self.training(learning, self.seed) | training,
            "inference": {"seed": self.seed, "precision": self.profile.precision},
            "evaluate": {"data": self.labelled(self.test(pool))},
            "output": str(output),
        }
        if few is not None and not learns_labels:
            values["labelled"] = {"data": self.labelled(self.few(few))}
        if values["training"].get("select") == "labelled" or create(method).needs.validation:
            values["validation"] = {"data": self.labelled(self.validation())}
        if create(method).needs.generated_texts:  # written already, for all cells
            values["generation"] = self.generation | {"seed": self.seed}
            shutil.copytree(self.generated(), generated_folder(parse(values, Recipe)), dirs_exist_ok=True)
        return parse(values, Recipe)

    def per_class(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """A recipe's block. A table gives `texts`, the number for all classes of all teachers together, in place of `per_class`."""
        classes, block = sum(len(t.labels) for t in self.setting.teachers), dict(block)
        return block | {"per_class": -(-block.pop("texts") // classes)} if "texts" in block else block

    def training(self, settings: dict[str, Any], seed: int) -> dict[str, Any]:
        return {**settings, "max_length": self.profile.max_length, "precision": self.profile.precision, "seed": seed}

    def pool(self, pool: str) -> Path:
        """The students' texts, of all data sets; labels have the union's names. The pools of DATA_FREE have no text of the teachers."""
        if pool == "generated":
            return self.generated() / TEXTS_FILE
        if pool in DATA_FREE:
            return self._stand_ins(pool)
        if pool in SKEWED:
            which, ratio = SKEWED[pool]
            ((name, files),) = self.files.items()
            return self._joined(pool, {name: files.skewed(pool, self.setting.teachers[which].labels, ratio)})
        if pool == NATURAL:
            return self._joined(pool, {name: files.natural() for name, files in self.files.items()})
        return self._joined(pool, {name: files.pool(pool) for name, files in self.files.items()})

    def test(self, pool: str = "shared") -> Path:
        """The test texts of a pool's cells: those of NATURAL have its frequencies of labels. All other pools share one test set."""
        if pool == NATURAL:
            return self._joined("test-natural", {name: files.natural_test() for name, files in self.files.items()})
        return self._joined("test", {name: files.test() for name, files in self.files.items()})

    def generated(self) -> Path:
        """The folder of the texts that were written for these teachers, once."""
        folder = self.shared / self._written
        teachers = [HuggingFaceSpec(model=str(f), name=f.name) for f in self.teacher_folders("shared")]
        options = GenerationOptions.model_validate(self.generation | {"seed": self.seed})
        labels = LabelOptions(**self.setting.joined)
        write_texts(teachers, labels, options, folder, device=pick_device("auto"), max_length=self.profile.max_length)
        return folder

    @property
    def _written(self) -> str:
        """A name for the generated texts: other options give another name."""
        options = json.dumps(self.generation, sort_keys=True).encode()
        return f"generated-{hashlib.sha256(options).hexdigest()[:8]}"

    def _stand_ins(self, pool: str) -> Path:
        """As many texts as were generated: random words, of as many words each, or sentences of another domain. Without labels."""
        target = self.folder / "texts" / f"{pool}-{self._written}.parquet"
        if not target.exists():
            lengths = [max(3, len(t.split())) for t in read(self.pool("generated"))["text"]]
            files = next(iter(self.files.values()))
            if pool == "cross":
                texts = list(files.foreign(len(lengths))["text"])
            else:
                words = self._vocabulary()
                draw = random.Random(f"random {self.seed}")
                texts = [" ".join(draw.choices(words, k=n)) for n in lengths]
            write({"text": texts, "label": [None] * len(texts)}, target)
        return target

    def _vocabulary(self) -> list[str]:
        """Whole words that any of the teachers' tokenizers knows."""
        found: set[str] = set()
        for folder in self.teacher_folders("shared"):
            pieces = AutoTokenizer.from_pretrained(folder).get_vocab()
            found |= {p.lstrip("Ġ▁") for p in pieces if p.lstrip("Ġ▁").isalpha() and not p.startswith("##")}
        return sorted(found)

    def few(self, n: int) -> Path:
        return self._joined(f"few{n}", {name: files.few(n) for name, files in self.files.items()})

    def validation(self) -> Path:
        return self._joined("validation", {name: files.validation() for name, files in self.files.items()})

    def reference(self, pool: str) -> Path:
        """A model of the student's kind that learned all labels from the labelled texts of a pool."""
        plan = replace(self.setting.teachers[0], encoder=self.setting.student, flaw="")
        recipe: dict[str, Any] = {
            "model": self.encoder(plan.encoder, student=True),
            "data": self.labelled(self.pool(pool)),
            "training": self.training(self._teaching(plan), self.seed),
            "output": str(self.folder / f"reference-{pool}"),
        }
        if recipe["training"].get("select") == "labelled":
            recipe["validation"] = {"data": self.labelled(self.validation())}
        return teach_recipe(parse(recipe, TeachRecipe))

    def _joined(self, name: str, parts: dict[str, Path]) -> Path:
        """The parts in one file. Texts of a label that no teacher knows are left out."""
        target = self.folder / "texts" / f"{name}.parquet"
        if not target.exists():
            names = ["text", "text_pair"] if self.setting.pairs else ["text"]
            columns: dict[str, list[str | None]] = {name: [] for name in (*names, "label")}
            for dataset, path in parts.items():
                table = read(path)
                known = [n for n, y in enumerate(table["label"]) if y is None or self.setting.has_label(dataset, y)]
                table = table.select(known)
                for name in names:
                    columns[name] += table[name]
                columns["label"] += [y and self.setting.union_name(dataset, y) for y in table["label"]]
            write(columns, target)
        return target

    def _teachers(self, pool: str) -> str:
        """A name for the texts that this pool's teachers learn from."""
        return next(iter(self.files.values())).teachers(self._own(pool)).stem

    @staticmethod
    def _own(pool: str) -> str:
        """The pool that has the teachers' own texts, for a pool that has none."""
        return "shared" if pool in DATA_FREE else pool

    def knowledge(self, pool: str) -> Path:
        """One store for all pools and methods of the same teachers."""
        return self.shared / self._teachers(pool) / "knowledge"

    def ready(self, pool: str, *, dropout: bool = True) -> Path:
        """Compute the teachers' outputs that a cell needs, for the pool and the test texts; without `dropout`, of a plain pass only."""
        if not self._swept & {(pool, dropout), (pool, True)}:
            for path in (self.pool(pool), self.test(pool)):
                for method in (None if dropout else PLAIN, *self.reads):
                    prepared = self.prepared(pool, self.texts_of(path, want_labels=False), method)
                    store = prepared.store(self.knowledge(pool))
                    sweep(prepared.infos, prepared.texts, store, prepared.sweep_options())
            self._swept.add((pool, dropout))
        return self.knowledge(pool)

    def prepared(self, pool: str, texts: Texts, method: dict[str, Any] | None = None) -> Prepared:
        """Teachers, label space and method, for some texts in place of the pool."""
        passes = self.passes if isinstance(self.passes, int) else self.passes[pool]
        routing = {"name": "routing", "of": {"name": "muka", "passes": passes}}
        return prepare(self.recipe(pool, method or routing, self.folder / "unused"), texts)

    def outputs(self, pool: str, texts: Texts, method: dict[str, Any] | None = None) -> tuple[Prepared, Source]:
        """The teachers' stored outputs for texts that `ready` has swept, with labels where the texts have them, and with the states of
        the method's encoder if it asks for them."""
        prepared = self.prepared(pool, texts, method)
        labels = prepared.labels(texts) if texts.has_labels else None
        source = stored(prepared, prepared.store(self.knowledge(pool)), texts.ids(), labels)
        folder = self.folder / "text-states"
        folder.mkdir(parents=True, exist_ok=True)
        return prepared, with_text_states(prepared, source, texts, folder, texts.fingerprint()[:16])

    def texts_of(self, path: Path, *, want_labels: bool) -> Texts:
        """The texts of a part; with `want_labels` only those that have a label."""
        block = self.labelled(path) if want_labels else self.unlabelled(path)
        return load_texts(TextsOptions(**block), want_labels=want_labels)

    def unlabelled(self, path: Path) -> dict[str, Any]:
        return {"path": str(path)} | ({"text_pair": "text_pair"} if self.setting.pairs else {})

    def labelled(self, path: Path) -> dict[str, Any]:
        return self.unlabelled(path) | {"label": "label"}
