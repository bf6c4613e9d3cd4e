"""Every recipe of every cell, of every table in both profiles, is built offline: no model is loaded and nothing is trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from some_quick import some_quick

from alloykit.methods.registry import create
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe
from alloykit.stages.recipe_texts import TEXTS_FILE
from benchmarks import models
from benchmarks.__main__ import TABLES
from benchmarks.distill import mtbert, rlkd4
from benchmarks.harness import data as data_module
from benchmarks.harness import learned_texts, sections, stages
from benchmarks.harness.data import FOREIGN
from benchmarks.harness.results import RESULTS, Record, _differs, _plain, load
from benchmarks.harness.sets import SETS
from benchmarks.harness.stages import Stages
from benchmarks.harness.table import Table
from benchmarks.muka import table1
from benchmarks.stratanet import fig5, table3, table5

MADE = [import_module(f"benchmarks.{paper}.{name}").TABLE for paper, names in TABLES.items() for name in names]
SMALL = [table for table in MADE if isinstance(table, Table)]
STATED = [whole for table in SMALL if (whole := table.as_stated) is not None]
PAPERS = {"muka", "stratanet", "distill"}
OURS = {"narrow", "larger", "domains", "fig5_larger", "full", "own_rates"}  # of these folders, tables that no paper has


def called(table: Table) -> str:
    return f"{table.paper}-{table.name}"


@dataclass(frozen=True)
class Kept:
    """As much of a data set as is asked of one here, in lists: real ones would take minutes for all cells."""

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.columns["text"])

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def select(self, rows: list[int]) -> Kept:
        return Kept({name: [values[row] for row in rows] for name, values in self.columns.items()})

    def add_column(self, name: str, values: list[Any]) -> Kept:
        return Kept(self.columns | {name: values})

    def select_columns(self, names: list[str]) -> Kept:
        return Kept({name: self.columns[name] for name in names})


@pytest.fixture(scope="module")
def tables() -> dict[Path, Kept]:
    """Every data set, 30 texts of each label in each part, in memory."""
    folder, found = Path("data"), {}
    for name, known in SETS.items():
        for part in ("train", "validation", "test"):
            labels = [i for i in range(len(known.labels)) for _ in range(30)]
            texts = [f"{name} {part} {n}" for n in range(len(labels))]
            more = {"text_pair": texts} if known.pairs else {}
            sources = {label: source for source, label in known.sources.items()}
            told = {"source": [sources[known.labels[i]] for i in labels]} if sources else {"label": labels}
            found[folder / (known.folder or name) / f"{part}.parquet"] = Kept({"text": texts, **more, **told})
    found[folder / FOREIGN / "train.parquet"] = Kept({"text": [f"foreign {n}" for n in range(900)]})
    return found


@pytest.fixture
def data(tables: dict[Path, Kept], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Their folder. What is drawn from them is kept in memory too, under the name of its file."""
    kept = dict(tables)

    def write(columns: dict[str, Any], target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
        kept[target] = Kept(columns)

    for module in (data_module, stages, learned_texts):
        monkeypatch.setattr(module, "read", kept.__getitem__)
        monkeypatch.setattr(module, "write", write)
    return Path("data")


@pytest.fixture
def taught(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The recipes by which teachers, and texts of theirs, would be made."""
    found: list[Any] = []

    def teach(recipe: TeachRecipe) -> Path:
        found.append(recipe)
        return Path(recipe.output)

    def together(recipe: TogetherRecipe) -> list[Path]:
        found.append(recipe)
        return [Path(recipe.output) / name for name in recipe.model_names]

    def texts(teachers: Any, labels: Any, generation: Any, folder: Path, **more: Any) -> Path:
        found.append(generation)
        if not (folder / TEXTS_FILE).exists():
            stages.write({"text": ["a b c d"] * 4, "label": [None] * 4}, folder / TEXTS_FILE)
        return folder / TEXTS_FILE

    monkeypatch.setattr(stages, "teach_recipe", teach)
    monkeypatch.setattr(stages, "teach_together_recipe", together)
    monkeypatch.setattr(stages, "write_texts", texts)
    monkeypatch.setattr(models, "fetch", lambda model, folder: folder.mkdir(parents=True, exist_ok=True))
    monkeypatch.setattr(stages, "trimmed", lambda texts, folder, tokens: folder)
    monkeypatch.setattr(stages.Stages, "_vocabulary", lambda self: ["a", "b"])
    for name in ("bpe", "chinese", "multilingual"):
        (tmp_path / "work" / "encoders" / name).mkdir(parents=True)
        (tmp_path / "work" / "encoders" / name / "config.json").write_text("{}")
    return found


def recipes(table: Table, data: Path, work: Path) -> Iterator[tuple[Any, Stages, Recipe | None]]:
    """Each cell of the first seed with its stages and its recipe; None for an analysis, which has none. Small tables draw 30 texts, or as
    many as a data set has labels."""
    known: dict[str, Stages] = {}
    if table.profile.texts is not None:
        labels = max(len(SETS[name].labels) for setting in table.settings for name in setting.datasets)
        sets = {
            name: {**of, "sizes": {"max_length": 16}} for name, of in table.profile.sets.items()
        }  # none says how many
        table = replace(table, texts=max(30, labels), test=30, profile=replace(table.profile, sets=sets))
    for cell in table.cells(seed=[0]):
        setting = next(s for s in table.settings if s.name == cell.setting)
        at = known.setdefault(cell.setting, table.stages(setting, 0, data, work))
        spec = at.per_class(table.methods[cell.method])
        if spec["name"] in {"teachers", *table.analyses}:
            at.teacher_folders(cell.pool), at.pool(cell.pool), at.test(cell.pool)
            yield cell, at, None
            continue
        training, student, few = spec.pop("training", {}), spec.pop("student", None), spec.pop("few", None)
        spec.pop("statistics", None)
        yield cell, at, at.recipe(cell.pool, spec, work / "run", student, few, **training)


MANY_CELLS = {"students", "outside", "targets", "outside_targets", "more_targets", "catch_all"}  # of Alloy
TRIED = [*SMALL, *STATED]


@pytest.mark.parametrize("table", some_quick(TRIED, *(t for t in TRIED if t.name not in MANY_CELLS)), ids=called)
def test_every_cells_recipe_is_built(table: Table, data: Path, taught: list[Any], tmp_path: Path) -> None:
    seen = 0
    for cell, _, recipe in recipes(table, data, tmp_path / "work"):
        seen += 1
        if recipe is None:
            continue
        assert create(recipe.method).name == recipe.method["name"], cell.key
        assert recipe.evaluate is not None
        assert recipe.student is not None
        tested = texts_of(recipe.evaluate.data)
        assert tested
        assert texts_of(recipe.texts)
        if recipe.validation is not None:
            assert not tested & texts_of(recipe.validation.data), f"{cell.key} is tested on what it is selected by"
        if cell.pool not in ("generated", "random"):
            assert not tested & texts_of(recipe.texts), f"{cell.key} is tested on what it learns from"
    assert seen == len(list(table.cells(seed=[0]))) > 0
    for recipe in taught:
        if isinstance(recipe, TeachRecipe) and recipe.validation is not None:
            assert not texts_of(recipe.data) & texts_of(recipe.validation.data)


def texts_of(block: Any) -> set[str]:
    """Texts, whichever part of a set they are from: `name part number`."""
    return set(stages.read(Path(block.path))["text"])


def test_every_table_of_a_paper_has_its_own_settings() -> None:
    assert {called(t) for t in SMALL if t.paper in PAPERS and t.name not in OURS and t.as_stated is None} == set()
    for table, whole in ((t, t.as_stated) for t in SMALL):
        if whole is None:
            continue
        assert (whole.texts, whole.test, whole.seeds, whole.student) == (None, None, {}, {})
        assert whole.profile.name.endswith("-paper"), "what is trained for one profile is not found by another"
        assert set(whole.methods) == set(table.methods)
        assert not {"sets"} & set(whole.configuration()["profile"])


def test_committed_results_are_of_the_small_tables_as_they_are() -> None:
    """So that a run goes on where it stopped, and a table is not changed without its results."""
    for table in SMALL:
        path = RESULTS / table.paper / f"{table.name}.json"
        if path.exists():
            old = load(path)["configuration"]
            assert _differs(old, _plain(table.configuration())) is None, called(table)


def whole(table: Table) -> Table:
    found = table.as_stated
    assert found is not None
    return found


def test_muka_as_stated(data: Path, taught: list[Any], tmp_path: Path) -> None:
    """§4.1: 3 epochs at 2e-5, students in batches of 32, checked every 100 steps; the best checkpoint on validation texts, of teachers too."""
    for _, _, recipe in recipes(whole(table1.TABLE), data, tmp_path / "work"):
        if recipe is not None:
            t = recipe.training
            stated = (t.epochs, t.learning_rate, t.batch_size, t.select, t.check_every, t.max_length, t.warmup)
            assert stated == (3, 2e-5, 32, "labelled", 100, 128, 0.1)
    teachers = [r for r in taught if isinstance(r, TeachRecipe)]
    assert {r.model.model for r in teachers} == {"google-bert/bert-base-uncased", "hfl/chinese-bert-wwm-ext"}
    for r in teachers:
        assert (r.training.epochs, r.training.learning_rate, r.training.batch_size) == (3, 2e-5, 64)
        assert r.training.select == "labelled"
        assert r.validation is not None


def test_stratanet_as_stated(data: Path, taught: list[Any], tmp_path: Path) -> None:
    """Table 4 and Appendix A: students of six layers (or four), dropout 0.2, 10 epochs of batches of 16, two of warm-up; BioGPT for OhSumed."""
    for table in (table3.TABLE, table5.TABLE):
        for cell, at, recipe in recipes(whole(table), data, tmp_path / "work"):
            if recipe is None:
                continue
            assert recipe.student is not None
            depth = 4 if cell.method.endswith("-small") else 6
            assert (recipe.student.layers, recipe.student.dropout) == (depth, 0.2), cell.key
            t = recipe.training
            stated = (t.epochs, t.batch_size, t.learning_rate, t.weight_decay, t.max_grad_norm, t.scheduler)
            assert stated == (10, 16, 2e-5, 0.01, 1.0, "linear"), cell.key
            assert t.warmup * t.epochs == pytest.approx(2)
            language_model = "microsoft/biogpt" if "ohsumed" in cell.setting else "openai-community/gpt2"
            g = at.generation
            assert (g["language_model"], g["candidates"], g["max_tokens"], g["every"]) == (language_model, 200, 128, 1)
            assert g["strength"] == 1.0
            if recipe.method["name"] == "muka":
                assert recipe.method["passes"] == 16
    for r in (r for r in taught if isinstance(r, TeachRecipe)):
        assert r.model.layers is None
        assert r.model.dropout is None
        assert r.training.select == "labelled"
    for setting in whole(fig5.TABLE).settings:
        made = whole(fig5.TABLE).stages(setting, 0, data, tmp_path / "work")
        alone = setting.name.endswith("-alone")
        assert made.generation["language_model"] == (
            "openai-community/gpt2" if alone else "meta-llama/Llama-2-7b-chat-hf"
        )


def test_distillation_as_stated(data: Path, taught: list[Any], tmp_path: Path) -> None:
    """RL-KD: 4 epochs in batches of 32; MT-BERT: batches of 64, teachers at 2e-6, students at 5e-6, of six and four layers."""
    for cell, _, recipe in recipes(whole(rlkd4.TABLE), data, tmp_path / "work"):
        if recipe is None:
            continue
        t = recipe.training
        assert (t.epochs, t.batch_size, t.learning_rate, t.select) == (4, 32, 2e-5, "labelled"), cell.key
        assert recipe.student is not None
        assert (recipe.student.model, recipe.student.layers) == ("google-bert/bert-base-uncased", 3)
        if recipe.method["name"] == "rl_kd":
            method = {k: recipe.method[k] for k in ("pretrain_epochs", "temperature", "alpha", "encoder")}
            assert method == {
                "pretrain_epochs": 4,
                "temperature": 10.0,
                "alpha": 0.5,
                "encoder": "google-bert/bert-base-uncased",
            }
            assert recipe.method["validate_every"] == 20, "its default, not the small profile's"
    kinds = {Path(r.model.model).name for r in taught}
    assert kinds == {"bert-base-uncased", "roberta-base", "xlnet-base-cased", "albert-base-v2"}
    taught.clear()
    depths = set()
    for cell, _, recipe in recipes(whole(mtbert.TABLE), data, tmp_path / "work"):
        if recipe is None:
            continue
        assert recipe.student is not None
        depths.add(recipe.student.layers)
        assert (recipe.training.learning_rate, recipe.training.batch_size, recipe.training.weight_decay) == (
            5e-6,
            64,
            0,
        )
        assert recipe.student.layers == (4 if cell.method.endswith("student2") else 6)
    assert depths == {4, 6}
    assert {r.training.learning_rate for r in taught} == {2e-6}
    assert any(isinstance(r, TogetherRecipe) for r in taught)


def test_pages_show_results_with_the_papers_settings_where_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {
        "status": "done",
        "commit": "abc",
        "environment": {"python": "3", "torch": "2", "transformers": "5", "threads": 1, "gpu": "a GPU"},
    }
    small, stated = table1.TABLE, whole(table1.TABLE)
    for table in (small, stated):
        Record(table.paper, table.name, {}, tmp_path).add("ag_news/shared/0/uhc", cell)
    monkeypatch.setattr(sections, "RESULTS", tmp_path)

    def body(table: Table, cells: dict[str, Any]) -> list[str]:
        return [f"body of {table.name}, {len(cells)} cells"]

    page = "\n".join(sections.section(small, tmp_path, body))
    above, below = page.split("with the paper's own settings")
    assert "body of table1, 1 cells" in above
    assert "body of table1-paper, 1 cells" in below
    assert "`python -m benchmarks muka table1 --profile paper`" in below
    assert "english: google-bert/bert-base-uncased" in below
    (tmp_path / "muka" / "table1-paper.json").unlink()
    assert "paper's own settings" not in "\n".join(sections.section(small, tmp_path, body))
