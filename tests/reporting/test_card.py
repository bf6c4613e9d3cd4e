"""The model card beside the student: valid metadata, teachers, method, recipe and test results."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from toyruns import Runs, copied

from alloykit.commands.report import report
from alloykit.escape import markdown_sentence
from alloykit.methods.registry import methods
from alloykit.reporting import page
from alloykit.reporting.card import _datasets, card, stated_by
from alloykit.reporting.recipes import public_values
from alloykit.reporting.verdict import verdict
from alloykit.run_folder.read import recipe_of

LABELS = ["refund", "charge", "invoice", "track", "damaged"]
METHOD = {"name": "muka", "title": "A title", "citation": "Somebody. Some paper. 2021."}


def load(folder: Path) -> ModelCard:
    return ModelCard.load(folder / "student" / "README.md")


def teacher(name: str, licence: str, labels: str = "a b") -> dict[str, Any]:
    return {"name": name, "model": f"org/{name}", "revision": "abc123", "licence": licence, "labels": labels.split()}


def tables(text: str) -> list[list[list[str]]]:
    """Every table's rows of cells, without the line under the head."""
    found = [block.strip().splitlines() for block in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE)]
    return [[[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in [t[0], *t[2:]]] for t in found]


def test_the_metadata_says_what_the_hub_wants_to_know(runs: Runs) -> None:
    data = load(runs.soft).data
    scores = json.loads((runs.soft / "metrics.json").read_text())["evaluation"]["scores"]["student"]
    assert {"transformers", "text-classification"} <= {v for v in data.to_dict().values() if isinstance(v, str)}
    assert {"alloykit", "knowledge-amalgamation", "muka"} <= set(data.tags)
    assert data.license is None
    assert data.base_model is None, "a folder on this machine is no model of the hub"
    assert data.model_name == "soft"
    found = {result.metric_type: result for result in data.eval_results}
    assert {kind: r.metric_value for kind, r in found.items()} == pytest.approx(
        {"accuracy": scores["accuracy"], "f1": scores["macro_f1"]}, abs=5e-5
    )
    assert {(r.task_type, r.dataset_name) for r in found.values()} == {("text-classification", "test.csv")}


def test_scores_on_other_texts_are_not_said_to_be_of_the_recipes(runs: Runs) -> None:
    view = page.load(runs.soft)
    view["metrics"]["evaluation"]["of_recipe"] = False  # as after `evaluate RUN --data other.csv`
    written = card(view, [teacher("x", "mit")], METHOD)
    assert "name: labelled texts" in written
    assert "test.csv" not in written.partition("model-index")[2].partition("\n---")[0]


def test_a_run_that_was_not_tested_claims_no_score(runs: Runs) -> None:
    found = load(runs.untested)
    assert "model-index" not in found.data.to_dict()
    assert "- It has not been tested on labelled texts." in found.text
    assert [t[0][0] for t in tables(found.text)] == ["name"], "only the table of teachers"
    assert "It has not been tested" not in load(runs.soft).text


def test_it_names_labels_teachers_method_recipe_and_verdict(runs: Runs) -> None:
    text = load(runs.soft).text
    assert "soft: one classifier of 5 labels from 2 teachers\n" in text
    assert f"\n## Labels\n\n{', '.join(LABELS)}\n" in text
    (teachers,) = (t for t in tables(text) if t[0][0] == "name")
    assert teachers[1:] == [
        ["billing", "billing", "local folder", "unknown", "refund, charge, invoice"],
        ["delivery", "delivery", "local folder", "unknown", "track, damaged"],
    ]
    assert "The teachers' licences are not stated" in text
    assert f"{methods()['muka'].title}. {methods()['muka'].citation}" in text
    assert "alloykit made it from\n160 texts without labels." in text
    assert "The student was initialised from encoder. It reads 32 tokens of a text." in text
    recipe = re.search(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    assert recipe is not None
    assert yaml.safe_load(recipe[1]) == public_values(recipe_of(runs.soft))
    judged = verdict(json.loads((runs.soft / "metrics.json").read_text()))
    assert f"**{judged.headline}**" in text
    assert all(f"- {markdown_sentence(point)}\n" in text for point in judged.points)


def test_it_lists_every_data_set_of_the_hub_once() -> None:
    more = [{"dataset": "org/more"}, {"path": "x.csv"}, {"dataset": "org/pool"}]
    recipe = {
        "texts": {"dataset": "org/pool", "more": more},
        "validation": None,
        "evaluate": {"data": {"path": "e.csv"}},
    }
    assert _datasets(recipe | {"labelled": {"data": {"dataset": "org/few"}}}) == ["org/pool", "org/more", "org/few"]
    assert _datasets({"texts": "generate"}) == []


def test_the_scores_are_those_of_the_run(runs: Runs) -> None:
    scores = json.loads((runs.vanilla / "metrics.json").read_text())["evaluation"]["scores"]
    (table,) = (t for t in tables(load(runs.vanilla).text) if t[0][0] == "classifier")
    expected = [[n, f"{100 * s['accuracy']:.1f} %", f"{100 * s['macro_f1']:.1f} %"] for n, s in scores.items()]
    assert table == [["classifier", "accuracy", "macro-F1"], *expected]
    assert "Measured on 60 labelled texts." in load(runs.vanilla).text


@pytest.mark.slow
def test_other_methods_have_cards_too(runs: Runs) -> None:
    supervised = load(runs.odd("supervised")).text
    assert "160 texts with labels" in supervised
    assert methods()["supervised"].reference in supervised
    assert "Unifying Heterogeneous Classifiers" in load(runs.odd("uhc")).text.replace("\n", " ")
    assert not (runs.odd("ensemble") / "student").exists(), "a method without a student has no card"


@pytest.mark.parametrize(
    ("readme", "expected"),
    [
        ("---\nlicense: mit\n---\nWords.\n", "mit"),
        ("---\nlicense: [mit, apache-2.0]\n---\n", "mit, apache-2.0"),
        ("---\nlanguage: en\n---\nWords.\n", "unknown"),
        ("---\nlicense:\n---\nWords.\n", "unknown"),
        ("---\nlicense: [mit\n  : : {\n---\nWords.\n", "unknown"),
        ("Words without front matter.\n", "unknown"),
        (None, "unknown"),
    ],
)
def test_the_licence_that_a_teacher_states(tmp_path: Path, readme: str | None, expected: str) -> None:
    if readme is not None:
        (tmp_path / "README.md").write_text(readme)
    assert stated_by(str(tmp_path)).licence == expected


def test_the_licence_of_a_teacher_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as it was downloaded before: there is no network here."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--org--teacher"
    for path, text in {
        "refs/main": 40 * "a",
        f"snapshots/{40 * 'a'}/README.md": "---\nlicense: cc0-1.0\n---\n",
    }.items():
        (place / path).parent.mkdir(parents=True)
        (place / path).write_text(text)
    assert stated_by("org/teacher").licence == "cc0-1.0"
    assert stated_by("org/another").licence == "unknown"


@pytest.mark.parametrize(
    ("stated", "agreed", "sentence"),
    [
        (["mit", "mit"], "mit", None),
        (["mit", "apache-2.0"], None, "The teachers' licences differ. "),
        (["mit", "unknown"], None, "The teachers' licences differ. "),
        (["unknown", "unknown"], None, "The teachers' licences are not stated. "),
    ],
)
def test_the_students_licence(runs: Runs, stated: list[str], agreed: str | None, sentence: str | None) -> None:
    text = card(page.load(runs.untested), [teacher(f"t{n}", s) for n, s in enumerate(stated)], METHOD)
    found = ModelCard(text)
    assert found.data.license == agreed
    assert ("The teachers' licences" in text) == (sentence is not None)
    assert sentence is None or sentence in text
    (table,) = tables(found.text)
    assert [row[1:4] for row in table[1:]] == [[f"org/t{n}", "abc123", s] for n, s in enumerate(stated)]


def test_teachers_that_agree_give_the_student_their_licence(runs: Runs, tmp_path: Path) -> None:
    """From the teachers' folders to the student's, by way of `report`."""
    run = shutil.copytree(runs.untested, tmp_path / "run")
    recipe = yaml.safe_load((run / "recipe.yaml").read_text())
    for spec in recipe["teachers"]:
        place = shutil.copytree(spec["model"], tmp_path / spec["name"])
        (place / "README.md").write_text("---\nlicense: mit\n---\n")
        spec["model"] = str(place)
    (run / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    report([run])
    assert load(run).data.license == "mit"
    (teachers,) = tables(load(run).text)
    assert [row[3] for row in teachers[1:]] == ["mit", "mit"]


@pytest.mark.parametrize(("model", "stated"), [("org/encoder", "org/encoder"), ("/gone/encoder", None), (None, None)])
def test_the_base_model_is_one_of_the_hub(runs: Runs, tmp_path: Path, model: str | None, stated: str | None) -> None:
    folder = copied(runs.untested, tmp_path / "run")
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text())
    recipe["student"] = None if model is None else recipe["student"] | {"model": model}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    run = page.load(folder)
    assert ModelCard(card(run, [teacher("t", "mit")], METHOD)).data.to_dict().get("base_model") == stated


def test_warnings_are_limits(runs: Runs) -> None:
    run = page.load(runs.untested)
    run["metrics"]["warnings"] = ["teacher 'x' guesses.", "teacher 'y' as well."]
    text = card(run, [teacher("t", "mit")], METHOD)
    assert text.count("\n- Warning of the run: ") == 2
    assert "\n- Warning of the run: teacher 'y' as well.\n" in text


def test_a_bar_in_a_name_does_not_break_the_table(runs: Runs) -> None:
    text = card(page.load(runs.untested), [teacher("t", "mit", "yes|no other"), teacher("u", "mit")], METHOD)
    assert {len(row) for row in tables(text)[0]} == {5}


def test_the_folder_is_still_a_plain_classifier(runs: Runs) -> None:
    from transformers import pipeline

    answer = pipeline("text-classification", model=str(runs.soft / "student"))("my card was broken")
    assert answer[0]["label"] in LABELS
