"""The harness: what a grid, a pool and a results file are. Cells themselves are too slow for tests; one is faked."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType

import datasets
import pytest

from benchmarks.__main__ import TABLES
from benchmarks.defaults.study import Cell, Study
from benchmarks.harness import cells
from benchmarks.harness import table as table_module
from benchmarks.harness.data import MANY, Files
from benchmarks.harness.data_set import DataSet
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.results import Record, letters, load, numbers
from benchmarks.harness.sets import SETS
from benchmarks.harness.settings import Setting, TeacherPlan, split
from benchmarks.harness.stages import Stages
from benchmarks.harness.table import Table
from benchmarks.muka import table1, table2, table3, table4, table5
from benchmarks.muka.table1 import PAPER, TABLE

LABELS = ("a", "b", "c", "d", "e")
SET = DataSet("toy", "Toy", LABELS)
PROFILE = replace(SMALL, texts=40, test=20)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    def put(name: str, n: int, labelled: bool = True) -> None:
        rows: dict[str, list[object]] = {"text": [f"{name} text {i}" for i in range(n)]}
        if labelled:
            rows["label"] = [i % len(LABELS) for i in range(n)]
        path = tmp_path / "data" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_dict(rows).to_parquet(str(path))

    put("toy/train", 100)
    put("toy/test", 30)
    put("wiki_sentences/train", 50, labelled=False)
    return tmp_path / "data"


def files(data: Path, tmp_path: Path, seed: int = 0, **sizes: int | None) -> Files:
    profile = replace(PROFILE, **sizes)  # type: ignore[arg-type]
    return Files(data, tmp_path / f"texts-{seed}-{sizes}", SET, profile, seed)


def texts(path: Path) -> list[str]:
    return list(datasets.Dataset.from_parquet(str(path), keep_in_memory=True)["text"])


def test_labels_are_cut_as_the_papers_appendix_says() -> None:
    ten = DataSet("ten", "Ten", tuple("0123456789"))
    assert [len(part) for part in ten.split(4)] == [2, 2, 2, 4]
    assert [len(part) for part in ten.split(3)] == [3, 3, 4]
    assert [label for part in ten.split(3) for label in part] == list("0123456789")
    assert SET.split(2) == [["a", "b"], ["c", "d", "e"]]
    other = DataSet("other", "Other", LABELS, order=("e", "d", "c", "b", "a"))
    assert other.split(2) == [["e", "d"], ["c", "b", "a"]]


def test_pools_are_what_they_are_called(data: Path, tmp_path: Path) -> None:
    parts = files(data, tmp_path)
    own, others, mixed = (texts(parts.pool(pool)) for pool in ("shared", "disjoint", "foreign"))
    assert texts(parts.teachers("shared")) == own == texts(parts.teachers("disjoint"))
    assert len(own) == len(others) == len(mixed) == 40
    assert not set(own) & set(others)
    assert Counter(text.split("/")[0] for text in mixed) == {"toy": 30, "wiki_sentences": 10}
    assert {t for t in mixed if t.startswith("toy")} < set(own)
    table = datasets.Dataset.from_parquet(str(parts.pool("foreign")), keep_in_memory=True)
    assert [row["label"] is None for row in table] == [row["text"].startswith("wiki") for row in table]


@pytest.mark.parametrize(("size", "found"), [(10, 50), (40, 60)])
def test_many_others_are_five_times_as_many_texts_or_all_there_are(
    data: Path, tmp_path: Path, size: int, found: int
) -> None:
    parts = files(data, tmp_path, texts=size)
    own, others, many = (texts(parts.pool(pool)) for pool in ("shared", "disjoint", MANY))
    assert texts(parts.teachers(MANY)) == own
    assert set(others) < set(many)
    assert not set(own) & set(many)
    assert len(many) == len(set(many)) == found


def test_skewed_and_contaminated_pools_are_of_unseen_texts(data: Path, tmp_path: Path) -> None:
    parts = files(data, tmp_path)
    own = set(texts(parts.pool("shared")))
    mixed = texts(parts.pool("foreign50"))
    assert Counter(text.split("/")[0] for text in mixed) == {"toy": 20, "wiki_sentences": 20}
    assert not own & set(mixed)
    found = datasets.Dataset.from_parquet(str(parts.skewed("skew5-first", ("a", "b"), 5)), keep_in_memory=True)
    count = Counter(label in ("a", "b") for label in found["label"])
    assert count[True] == 5 * count[False]
    assert not own & set(found["text"])
    assert count[False] == (40 - sum(int(t.split()[-1]) % 5 < 2 for t in own)) // 5, "as many as the rarer side allows"


def test_a_natural_pool_and_its_test_texts_have_shares_by_rank(data: Path, tmp_path: Path) -> None:
    """40 texts of five labels: shares 1 : 1/2 : … : 1/5, that is 18, 9, 6, 4 and 4; not more than the 12 or so there are."""
    parts, own = files(data, tmp_path), set(texts(files(data, tmp_path).pool("shared")))
    pool, test = (
        datasets.Dataset.from_parquet(str(p), keep_in_memory=True) for p in (parts.natural(), parts.natural_test())
    )
    ranks = [label for label, _ in Counter(pool["label"]).most_common()]
    unseen = Counter(i % 5 for i in range(100) if f"toy/train text {i}" not in own)
    counts = dict(Counter(pool["label"]))
    assert sorted(counts.values(), reverse=True) == [min(18, unseen[LABELS.index(ranks[0])]), 9, 6, 4, 4]
    assert not own & set(pool["text"])
    tested = Counter(test["label"])
    assert len(tested) == 5
    assert [tested[label] for label in ranks[:3]] == [6, 4, 3], "the same order; 9 of the first, but there are 6"
    assert min(tested.values()) == 3
    assert all(text.startswith("toy/test") for text in test["text"])
    assert texts(files(data, tmp_path / "again").natural()) == list(pool["text"])
    others = {tuple(texts(files(data, tmp_path, seed=seed).natural_test())) for seed in range(3)}
    assert len(others) == 3


def test_all_parts_are_of_the_texts_for_which_an_encoder_is_trimmed(data: Path, tmp_path: Path) -> None:
    (data / "toy" / "validation.parquet").write_bytes((data / "toy" / "test.parquet").read_bytes())
    parts = files(data, tmp_path, texts=15)
    known = set(parts.known_texts())
    paths = [
        *(parts.pool(pool) for pool in ("shared", "disjoint")),
        parts.natural(),
        parts.natural_test(),
        parts.test(),
    ]
    paths.append(parts.skewed("skew5-first", ("a", "b"), 5))
    assert all(set(texts(path)) <= known for path in paths)
    assert len(known) == 90 + 30, "six times 15 of the training texts, and the test texts"


def test_every_seed_draws_its_own_texts_but_the_test_texts_are_the_same(data: Path, tmp_path: Path) -> None:
    first, again, second = files(data, tmp_path), files(data, tmp_path / "again"), files(data, tmp_path, seed=1)
    for pool in ("shared", "disjoint", "foreign"):
        assert texts(first.pool(pool)) == texts(again.pool(pool))
        assert set(texts(first.pool(pool))) != set(texts(second.pool(pool)))
    assert texts(first.test()) == texts(second.test())
    assert len(set(texts(first.test()))) == 20


def test_teachers_have_a_text_of_every_label(data: Path, tmp_path: Path) -> None:
    """A label that the draw has missed takes the place of a text whose label has others; nothing else moves."""
    path = data / "toy" / "train.parquet"
    table = datasets.Dataset.from_parquet(str(path), keep_in_memory=True)
    plain = texts(files(data, tmp_path / "plain").pool("shared"))
    rare = next(i for i, text in enumerate(table["text"]) if text not in plain)
    labels = [4 if i == rare else label % 4 for i, label in enumerate(table["label"])]
    datasets.Dataset.from_dict({**table.to_dict(), "label": labels}).to_parquet(str(path))
    parts = files(data, tmp_path / "rare")
    found = texts(parts.pool("shared"))
    assert table["text"][rare] in found
    assert sum(a != b for a, b in zip(plain, found, strict=True)) == 1
    assert not set(found) & set(texts(parts.pool("disjoint")))


def test_without_a_size_all_texts_are_used_and_disjoint_halves_need_other_teachers(data: Path, tmp_path: Path) -> None:
    parts = files(data, tmp_path, texts=None, test=None)
    assert len(texts(parts.pool("shared"))) == 100
    assert len(texts(parts.test())) == 30
    half, other = texts(parts.teachers("disjoint")), texts(parts.pool("disjoint"))
    assert len(half) == len(other) == 50
    assert not set(half) & set(other)
    assert parts.teachers("disjoint") != parts.teachers("shared")


def test_a_record_keeps_what_others_wrote_and_refuses_another_configuration(tmp_path: Path) -> None:
    one, two = (Record("paper", "table", {"size": 1, "labels": ("a", "b")}, tmp_path) for _ in range(2))
    one.add("b", {"status": "done", "accuracy": 0.5})
    two.add("a", {"status": "failed", "error": "it broke"})
    assert list(one.cells()) == ["a", "b"]
    lines = (tmp_path / "paper" / "table.json").read_text().splitlines()
    assert sum(line.startswith(('  "a": {', '  "b": {')) for line in lines) == 2, "a line per cell"
    assert json.loads((tmp_path / "paper" / "table.json").read_text())["configuration"]["size"] == 1
    with pytest.raises(SystemExit, match="another configuration"):
        Record("paper", "table", {"size": 2, "labels": ("a", "b")}, tmp_path)


def test_what_cells_have_in_common_is_in_the_file_once_and_read_back_in_every_cell(tmp_path: Path) -> None:
    """The machine, the texts of warnings, the names of the columns of `routes`. Files written before this was so are read alike."""
    machine = {"python": "3.11", "threads": 1}
    routes = {way: {"texts": 5, "warnings": ["too few", way], "accuracy": 0.1 + 0.2} for way in ("one", "two")}
    cell = {"status": "done", "routes": routes, "pool": {"warnings": ["too few"]}, "environment": machine}
    record, path = Record("paper", "table", {}, tmp_path), tmp_path / "paper" / "table.json"
    for key in "ab":
        record.add(key, cell)
    record.add("c", {"status": "failed", "error": "it broke", "environment": machine | {"threads": 2}})
    text = path.read_text(encoding="utf-8")
    assert [text.count(f'"{word}"') for word in ("too few", "one", "accuracy", "3.11")] == [1, 3, 1, 2]
    assert record.cells()["a"] == record.cells()["b"] == cell
    assert record.cells()["c"]["environment"]["threads"] == 2
    before = {"configuration": {}, "cells": {"a": cell}}
    path.write_text(json.dumps(before), encoding="utf-8")
    assert load(path) == before
    record.add("b", cell)
    assert record.cells() == {"a": cell, "b": cell}
    assert path.read_text(encoding="utf-8").count('"3.11"') == 1, "written anew with the next cell"


def test_a_later_run_may_add_settings_methods_and_encoders_but_change_none(tmp_path: Path) -> None:
    def configuration(**methods: dict[str, object]) -> dict[str, object]:
        return {"profile": {"texts": 5, "encoders": {m: {"model": m} for m in methods}}, "methods": methods}

    Record("paper", "table", configuration(a={"passes": 1}), tmp_path).add("one", {"status": "done"})
    Record("paper", "table", configuration(b={"passes": 2}), tmp_path).add("two", {"status": "done"})
    kept = json.loads((tmp_path / "paper" / "table.json").read_text())
    assert kept["configuration"] == configuration(a={"passes": 1}, b={"passes": 2})
    assert list(kept["cells"]) == ["one", "two"]
    with pytest.raises(SystemExit, match=r"another configuration: methods\.b differs"):
        Record("paper", "table", configuration(b={"passes": 3}), tmp_path)
    with pytest.raises(SystemExit, match=r"another configuration: profile\.texts differs"):
        Record("paper", "table", {"profile": {"texts": 6}}, tmp_path)


def test_a_setting_of_two_sets_joins_equal_names_or_keeps_them_apart(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "other").mkdir()
    for part in ("train", "test"):
        rows = {"text": [f"other {part} {i}" for i in range(40)], "label": [i % 2 for i in range(40)]}
        datasets.Dataset.from_dict(rows).to_parquet(str(data / "other" / f"{part}.parquet"))
    monkeypatch.setitem(SETS, "toy", SET)
    monkeypatch.setitem(SETS, "other", DataSet("other", "Other", ("b", "z")))
    plans = (TeacherPlan("toy", LABELS), TeacherPlan("other", ("b", "z")))
    merged = Setting("merged", "Merged", plans)
    apart = Setting("apart", "Apart", plans, keep_apart=True, teachers_of="merged")
    assert merged.space.names == ("a", "b", "c", "d", "e", "z")
    assert apart.space.names == ("a", "teacher1/b", "c", "d", "e", "teacher2/b", "z")
    names = {"merged": {"toy": "b", "other": "b"}, "apart": {"toy": "teacher1/b", "other": "teacher2/b"}}
    pools = {}
    for setting in (merged, apart):
        stages = Stages(data, tmp_path / "work", setting, PROFILE, 0)
        table = datasets.Dataset.from_parquet(str(stages.pool("shared")), keep_in_memory=True)
        said = {(row["text"].split("/")[0].split()[0], row["label"]) for row in table}
        assert {who for who, label in said if label == names[setting.name][who]} == {"toy", "other"}
        assert {label for _, label in said} == set(setting.space.names)
        pools[setting.name] = list(table["text"])
        assert stages.knowledge("shared").parts[-5:-3] == (
            f"{PROFILE.name}-float32-{PROFILE.texts}-{PROFILE.test}",
            "merged",
        )
    assert pools["merged"] == pools["apart"], "the same texts, so that they share their knowledge"
    with pytest.raises(KeyError, match="other: c"):
        merged.union_name("other", "c")


def test_an_encoder_that_was_not_trained_yet_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="python -m benchmarks encoders chinese"):
        SMALL.encoder("chinese", tmp_path)
    (tmp_path / "encoders" / "chinese").mkdir(parents=True)
    (tmp_path / "encoders" / "chinese" / "config.json").write_text("{}")
    assert SMALL.encoder("chinese-other", tmp_path) == {"model": str(tmp_path / "encoders" / "chinese"), "layers": 2}
    assert SMALL.encoder("english", tmp_path)["model"] == "bundled:minilm"
    quick = replace(SMALL, encoders={"a": {"model": "x", "layers": 2, "learning_rate": 1e-3}, "b": {"model": "y"}})
    assert (quick.encoder("a", tmp_path), quick.rate("a")) == ({"model": "x", "layers": 2}, {"learning_rate": 1e-3})
    assert quick.rate("b") == {}


@pytest.mark.parametrize("module", [table1, table2, table3, table4, table5], ids=lambda m: m.TABLE.name)
def test_what_the_paper_states_is_about_methods_and_settings_of_the_table(module: ModuleType) -> None:
    settings = {s.name for s in module.TABLE.settings}
    known = set(module.TABLE.methods) | {"ensemble"} | {f"teacher{i}" for i in range(1, 6)}
    assert set(module.PAPER) <= known
    assert {s for row in module.PAPER.values() for s in row} <= settings


def test_tables_whose_settings_share_a_name_share_their_teachers() -> None:
    teachers: dict[object, dict[str, object]] = {}  # of a folder of trained teachers
    for paper, names in TABLES.items():
        for table in (import_module(f"benchmarks.{paper}.{name}").TABLE for name in names):
            for setting in table.settings if isinstance(table, Table) else ():
                profile = table.sized
                folder = (profile.name, profile.precision, profile.texts, profile.test, setting.name)
                told = setting.described(profile)
                assert teachers.setdefault(folder, told) == told, (paper, table.name)
    assert len(teachers) > 40


def test_letters_and_numbers_are_inverse() -> None:
    assert letters([0, 9, 10, 35]) == "09az"
    assert numbers("09az") == [0, 9, 10, 35]
    many = list(range(97, 492))  # classes of several data sets together
    assert numbers(json.loads(json.dumps(letters(many)))) == many
    every = list(range(92))
    assert numbers(json.loads(f'"{letters(every)}"')) == every, "no character needs an escape"


def test_cells_come_pool_by_pool_and_can_be_picked() -> None:
    every = list(TABLE.cells())
    assert len({cell.key for cell in every}) == len(every) == 3 * (14 + 2 * 12 + 9 + 3 * 8 + 3 * 8)
    assert [cell.pool for cell in every] == sorted((c.pool for c in every), key=["shared", "disjoint", "foreign"].index)
    some = list(TABLE.cells(setting=["ag_news"], seed=[1], pool=None, method=["uhc"]))
    assert [cell.key for cell in some] == [f"ag_news/{pool}/1/uhc" for pool in ("shared", "disjoint", "foreign")]
    assert set(PAPER) - set(TABLE.methods) == {"teacher1", "teacher2", "ensemble"}


def test_cells_can_come_seed_by_seed_and_setting_by_setting() -> None:
    table = Table(
        "paper", "table", "Table", (split("ag_news", 2), split("abstracts5", 2)), {"shared": ("a", "b"), "disjoint": ("a",)},
        {}, profile=replace(SMALL, seeds=(0, 1)), seed_by_seed=True,
    )  # fmt: skip
    found = [cell.key for cell in table.cells()]
    assert found[:4] == ["ag_news/shared/0/a", "ag_news/shared/0/b", "ag_news/disjoint/0/a", "abstracts5/shared/0/a"]
    assert [key.split("/")[2] for key in found] == ["0"] * 6 + ["1"] * 6
    assert set(found) == {cell.key for cell in replace(table, seed_by_seed=False).cells()}


def test_a_data_set_may_have_sizes_of_its_own(tmp_path: Path) -> None:
    profile = replace(SMALL, sets={"ag_news": {"sizes": {"texts": 7, "max_length": 9}}})
    one, other = (Stages(tmp_path, tmp_path, split(name, 2), profile, 0) for name in ("ag_news", "abstracts5"))
    assert (one.profile.texts, one.training({}, 0)["max_length"]) == (7, 9)
    assert (other.profile.texts, other.training({}, 0)["max_length"]) == (SMALL.texts, SMALL.max_length)
    assert split("ag_news", 2).described(profile)["sizes"] == {"texts": 7, "max_length": 9}
    assert "sizes" not in split("abstracts5", 2).described(profile)


def test_a_table_s_students_may_learn_otherwise() -> None:
    table = replace(TABLE, student={"batch_size": 7})
    assert table.sized.student == SMALL.student | {"batch_size": 7}
    assert TABLE.sized.student == SMALL.student


def test_a_finished_cell_is_skipped_and_a_failed_one_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def cell(stages: object, pool: str, spec: dict[str, str], analyses: object) -> dict[str, object]:
        ran.append(f"{pool} {spec['name']}")
        if spec["name"] == "uhc":
            raise ValueError(f"no luck in {tmp_path}/kept/texts")
        return {"status": "done", "accuracy": 0.5}

    monkeypatch.setattr(table_module, "run_cell", cell)
    methods = {"uhc": {"name": "uhc"}, "muka": {"name": "muka"}}
    small = Table("paper", "table", "Table", (split("ag_news", 2),), {"shared": ("uhc", "muka")}, methods)
    small = replace(small, profile=replace(SMALL, seeds=(0,)))
    for retry in (False, False, True):
        small.fill(tmp_path, tmp_path / "kept", retry=retry, results=tmp_path)
    assert ran == ["shared uhc", "shared muka", "shared uhc"], "the failed cell only when asked for"
    cells = small.record(tmp_path).cells()
    assert cells["ag_news/shared/0/uhc"]["error"] == "ValueError: no luck in texts"
    assert cells["ag_news/shared/0/muka"]["accuracy"] == 0.5


def test_every_table_takes_what_the_command_line_gives() -> None:
    """The kinds of tables share no class, and the command line calls them alike."""
    for paper, tables in TABLES.items():
        for name in tables:
            table = import_module(f"benchmarks.{paper}.{name}").TABLE
            signature(table.fill).bind(Path(), Path(), retry=False, setting=None, pool=None, method=None, seed=None)
            chosen = table.selectable()
            assert all(hasattr(cell, option) for cell in chosen for option in table.options)
            assert bool(chosen) == bool(table.options)


def test_a_student_far_below_the_best_with_the_first_seed_is_left_out_with_the_others() -> None:
    cells = tuple(Cell("s", 500, 3, seed, rate, 3) for seed in (0, 1) for rate in (1e-4, 1e-3)) + (
        Cell("s", 500, 3, 1),
    )
    study = Study("grid", "", (), cells, drop=0.03)
    worse, better, other_worse = cells[:3]
    done = {
        worse.key: {"status": "done", "balanced_accuracy": 0.80},
        better.key: {"status": "done", "balanced_accuracy": 0.84},
    }
    assert [study.dropped(c, done) for c in cells] == [False, False, True, False, False]
    done[worse.key]["balanced_accuracy"] = 0.82
    assert not study.dropped(other_worse, done)
    assert not study.dropped(other_worse, {}), "seed 0 was not run"


def test_what_a_cell_of_another_commit_left_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fit is of the method as it was then."""
    for left in ("natural-alloy--aaaa", "natural-alloy--bbbb", "natural-alloy-5--aaaa"):
        (tmp_path / left).mkdir()
    monkeypatch.setattr(cells, "commit", lambda: "bbbb")
    assert cells._of_this_commit(tmp_path, "natural-alloy") == tmp_path / "natural-alloy--bbbb"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["natural-alloy--bbbb", "natural-alloy-5--aaaa"]
