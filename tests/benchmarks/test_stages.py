"""Stages that cells share: what is swept, for whom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import datasets
import pytest
import tiny

from benchmarks.harness import cells, stages
from benchmarks.harness.data import read, write
from benchmarks.harness.data_set import DataSet
from benchmarks.harness.learned_texts import learned_texts
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Flaw, Setting, TeacherPlan, flawed, split
from benchmarks.harness.stages import Stages

GROUPS = {"teacher1": ("a", "b"), "teacher2": ("c", "d")}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Stages, list[tuple[int, int]]]:
    """Stages with two tiny teachers, and the (texts, passes) of every sweep that they ask for."""
    for part, n in (("train", 60), ("test", 30)):
        path = tmp_path / "data" / "toy" / f"{part}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = {"text": [f"{part} {t} {i}" for i, t in enumerate(tiny.texts(n))], "label": [i % 4 for i in range(n)]}
        datasets.Dataset.from_dict(rows).to_parquet(str(path))
    monkeypatch.setitem(SETS, "toy", DataSet("toy", "Toy", ("a", "b", "c", "d")))
    folders = [tiny.classifier(tmp_path / name, labels, "bert", seed=1) for name, labels in GROUPS.items()]
    monkeypatch.setattr(Stages, "teacher_folders", lambda *_: folders)
    asked: list[tuple[int, int]] = []

    def sweep(infos: Any, texts: Any, store: Any, options: Any) -> None:
        asked.append((len(texts), options.passes))

    monkeypatch.setattr(stages, "sweep", sweep)
    setting = Setting("toy", "Toy", tuple(TeacherPlan("toy", labels) for labels in GROUPS.values()))
    return Stages(tmp_path / "data", tmp_path / "work", setting, replace(SMALL, texts=40, test=12), 0), asked


def test_dropout_passes_are_swept_once_and_only_where_a_cell_needs_them(
    made: tuple[Stages, list[tuple[int, int]]],
) -> None:
    shared, asked = made
    shared.ready("shared", dropout=False)
    shared.ready("shared", dropout=False)
    assert asked == [(40, 0), (12, 0)]
    shared.ready("shared")
    shared.ready("shared", dropout=False)
    assert asked[2:] == [(40, 16), (12, 16)]


@pytest.mark.parametrize(
    ("spec", "dropout"),
    [
        ({"name": "dfa", "frozen_blocks": True}, False),
        ({"name": "vanilla_kd", "training": {"select": "last"}}, False),
        ({"name": "muka", "passes": 0}, False),
        ({"name": "muka"}, True),
        ({"name": "teachers"}, True),
    ],
    ids=str,
)
def test_what_a_cell_needs(
    spec: dict[str, Any],
    dropout: bool,
    made: tuple[Stages, list[tuple[int, int]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cells, "_method", lambda *_: {})
    monkeypatch.setattr(cells, "_teachers", lambda *_: {})
    cells.run_cell(made[0], "shared", spec)
    assert [passes for _, passes in made[1]] == [16 if dropout else 0] * 2


def test_other_statistics_take_the_place_of_the_generated_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run" / "generated").mkdir(parents=True)
    (tmp_path / "run" / "generated" / "texts.parquet").write_text("generated")
    (tmp_path / "shared").write_text("labelled")
    stages: Any = SimpleNamespace(
        folder=tmp_path,
        pool=lambda pool: tmp_path / pool,
        recipe=lambda pool, spec, *more, **training: SimpleNamespace(output=str(tmp_path / "run"), spec=spec),
    )

    def run_recipe(recipe: Any, **more: Any) -> None:
        assert recipe.spec == {"name": "stratanet"}
        raise InterruptedError

    monkeypatch.setattr(cells, "run_recipe", run_recipe)
    for spec, wanted in (({}, "generated"), ({"statistics": "shared"}, "labelled")):
        with pytest.raises(InterruptedError):
            cells._method(stages, "generated", {"name": "stratanet"} | spec, None)
        assert (tmp_path / "run" / "generated" / "texts.parquet").read_text() == wanted


def test_generated_texts_are_shared_out_among_the_classes_of_all_teachers(tmp_path: Path) -> None:
    pair = Setting("toy", "Toy", (TeacherPlan("ag_news", ("World", "Sports")),) * 4)  # eight classes in all
    stages = Stages(tmp_path, tmp_path, pair, SMALL, 0, generation={"texts": 100, "top_k": 8})
    assert stages.generation == {"per_class": 13, "top_k": 8}
    assert Stages(tmp_path, tmp_path, pair, SMALL, 0, generation={"per_class": 5}).generation == {"per_class": 5}


def test_texts_of_another_generator_have_a_folder_of_their_own(tmp_path: Path) -> None:
    pair = Setting("toy", "Toy", (TeacherPlan("ag_news", ("World", "Sports")),) * 2)
    blocks = [{"texts": 8, "top_k": 0}, {"texts": 8, "top_k": 8}, {"top_k": 8, "texts": 8}]
    first, other, same = (Stages(tmp_path, tmp_path, pair, SMALL, 0, generation=block)._written for block in blocks)
    assert first != other == same


def test_methods_that_differ_in_one_option_have_folders_of_their_own() -> None:
    specs: list[dict[str, Any]] = [
        {"name": "mt_bert", "task": False},
        {"name": "mt_bert", "hidden": False},
        {"name": "mt_bert", "training": {"epochs": 2}},
        {"name": "mt_bert", "student": "pooled3"},
        {"name": "mt_bert"},
    ]
    folders = ["-".join(cells._flat(spec)) for spec in specs]
    assert len(set(folders)) == len(specs)
    assert folders[2] == "mt_bert-epochs=2"


def test_a_set_of_many_labels_trains_its_teachers_and_students_longer(tmp_path: Path) -> None:
    def epochs(name: str) -> tuple[float, float]:
        made = Stages(tmp_path, tmp_path, split(name, 2), SMALL, 0)
        return made._teaching(made.setting.teachers[0])["epochs"], (SMALL.student | SMALL.of_sets([name], "student"))[
            "epochs"
        ]

    assert epochs("ag_news") == (SMALL.teacher["epochs"], SMALL.student["epochs"])
    assert epochs("ohsumed") == (10, 5)
    assert "training" in split("ohsumed", 2).described(SMALL), "a result depends on it"
    assert "training" not in split("ag_news", 2).described(SMALL)


def test_a_set_can_be_run_without_the_foreign_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their word pieces change no answer; with them the encoder has a folder of its own."""
    asked: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(stages, "trimmed", lambda texts, folder, _: asked.append((str(folder), texts())) or folder)
    monkeypatch.setattr(stages.Files, "known_texts", lambda _: ["known"])
    monkeypatch.setattr(stages.Files, "unseen", 4)
    of = Stages(tmp_path, tmp_path / "work", split("bbc_news", 2, "english-trimmed"), SMALL, 0)
    of.encoder("english-trimmed")
    (tmp_path / "wiki_sentences").mkdir()
    datasets.Dataset.from_dict({"text": ["foreign"] * 9}).to_parquet(str(tmp_path / "wiki_sentences" / "train.parquet"))
    of.encoder("english-trimmed")
    (alone, texts), (both, more) = asked
    assert (alone.endswith("bbc_news-alone/seed0"), both.endswith("bbc_news/seed0")) == (True, True)
    assert (texts, set(more)) == (["known"], {"known", "foreign"})


def test_flaws_of_teachers() -> None:
    """Setting by setting: a flaw of all teachers is what "barely" meant before flaws had names, so that its results count."""
    plain = split("ag_news", 2)
    first = flawed(plain, "few", (0,), name="few-first")
    assert [t.flaw for t in first.teachers] == ["few", ""]
    assert (first.name, first.title, first.space.names) == ("few-first", plain.title, plain.space.names)
    assert first.described(SMALL) == plain.described(SMALL) | {"flaws": ["few", ""]}
    assert flawed(plain, "barely", (0, 1)).described(SMALL) == plain.described(SMALL) | {"barely": True}
    assert flawed(plain, "barely", (1,)).described(SMALL) == plain.described(SMALL) | {"flaws": ["", "barely"]}


def test_only_the_barely_trained_teacher_is_trained_less(tmp_path: Path) -> None:
    made = Stages(tmp_path, tmp_path, flawed(split("ag_news", 2), "barely", (0,)), SMALL, 0)
    barely, usual = (made._teaching(plan) for plan in made.setting.teachers)
    assert (barely["epochs"], barely["learning_rate"]) == (usual["epochs"] / 3, usual["learning_rate"] / 2)
    few, noisy = (flawed(made.setting, flaw, (0,)).teachers[0] for flaw in get_args(Flaw)[2:])
    assert (few.flaw, noisy.flaw) == ("few", "noisy")
    assert made._teaching(few) == made._teaching(noisy) == usual


def test_texts_of_a_teacher_of_noisy_labels_or_few_texts(tmp_path: Path) -> None:
    names = ("World", "Sports", "Business", "Sci/Tech")
    labels = [*["World"] * 200, *["Sports"] * 40, *["Business"] * 200]
    texts = tmp_path / "teachers.parquet"
    write({"text": [f"text {n}" for n in range(440)], "label": labels}, texts)

    def learned(flaw: Flaw, *, other: bool = False) -> list[tuple[str, str]]:
        table = read(
            learned_texts(TeacherPlan("ag_news", names[:2], other=other, flaw=flaw), texts, tmp_path / str(other), 0)
        )
        return list(zip(table["text"], table["label"], strict=True))

    plan = TeacherPlan("ag_news", names[:2])
    assert learned_texts(plan, texts, tmp_path, 0) == texts
    assert learned_texts(replace(plan, flaw="barely"), texts, tmp_path, 0) == texts
    few = [label for _, label in learned("few")]
    assert (few.count("World"), few.count("Sports"), len(few)) == (20, 8, 28)
    noisy = learned("noisy")
    changed = [before != after for before, (_, after) in zip(labels, noisy, strict=True)]
    assert [text for text, _ in noisy] == [f"text {n}" for n in range(440)]
    assert 0.14 < sum(changed[:240]) / 240 < 0.26, "40 % are drawn, of two labels"
    assert not any(changed[240:]), "not a label of this teacher"
    assert learned("noisy") == noisy
    assert {label for _, label in learned("", other=True)} == {"World", "Sports", "other"}
    assert [label for _, label in learned("few", other=True)].count("other") == 20
