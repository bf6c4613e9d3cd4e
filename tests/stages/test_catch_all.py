"""Teachers that have a label for all texts of other subjects: what a run makes of it, and what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import toy
from commandline import write_csv
from safetensors import safe_open

import alloykit
from alloykit.errors import AlloyError
from alloykit.run_folder.file_names import STATE

EXAMPLES = toy.examples(60)
TRUE = dict(EXAMPLES)
BILLING, DELIVERY = (labels for labels in toy.TEAMS.values())
MUKA = {"name": "routing", "of": {"name": "muka", "passes": 0}}
NEITHER = ["hello there", "good morning to you", "what time is it"]


def teacher(name: str, labels: tuple[str, ...], rest: str | None) -> alloykit.Teacher:
    """It knows its labels. Of other texts it is as sure: they are `rest`, or without it the first label."""
    known = (*labels, rest) if rest else labels

    def answer(texts: list[str]) -> list[dict[str, float]]:
        given = [TRUE[t] if TRUE.get(t) in labels else rest or labels[0] for t in texts]
        return [{label: 0.97 if label == mine else 0.03 / (len(known) - 1) for label in known} for mine in given]

    return alloykit.Teacher(answer, known, name)


def run(folder: Path, teachers: list[alloykit.Teacher], labels: Mapping[str, Any], **changes: Any) -> alloykit.Run:
    folder.mkdir(exist_ok=True)
    test = write_csv(folder / "test.csv", [*EXAMPLES, *((t, "other") for t in NEITHER)], ("text", "label"))
    values: dict[str, Any] = {
        "teachers": teachers,
        "texts": [*TRUE, *NEITHER],
        "method": "ensemble",
        "labels": labels,
        "evaluate": {"data": {"path": str(test), "label": "label"}},
        "output": folder / "run",
    }
    return alloykit.amalgamate(**values | changes)


def metrics(found: alloykit.Run) -> dict[str, Any]:
    return json.loads((found.folder / "metrics.json").read_text())


def scores(found: alloykit.Run) -> dict[str, float]:
    return {way: score["accuracy"] for way, score in metrics(found)["evaluation"]["scores"].items()}


def both() -> list[alloykit.Teacher]:
    return [teacher("billing", BILLING, "other"), teacher("delivery", DELIVERY, "other")]


def test_a_text_is_left_to_the_teacher_that_names_a_label(tmp_path: Path) -> None:
    found = run(tmp_path, both(), {"catch_all": ["other"]}, method=MUKA)
    health = metrics(found)["health"]
    assert scores(found)["routing"] == scores(found)["ensemble"] == 1  # the texts that neither knows too
    assert health["billing"]["abstains"] == pytest.approx(24 / 63)
    assert health["delivery"]["abstains"] == pytest.approx(36 / 63)
    assert scores(found)["teacher billing"] == pytest.approx(39 / 63)  # of all texts: it has an answer to each
    assert metrics(found)["agreement"]["confident_teachers"] == {"none": 0, "one": 60, "several": 3}
    assert not [w for w in metrics(found)["warnings"] if "other" in w]
    page = (found.folder / "report.html").read_text()
    assert '<th scope="col">abstains</th>' in page
    assert "<td>38.1" in page
    assert "<td>57.1" in page
    log = (found.folder / "run.log").read_text()
    assert "teacher billing: abstains from 38 % of the texts, because of `catch_all`" in log


def test_what_several_teachers_call_other_is_such_a_label_by_default(tmp_path: Path) -> None:
    found = run(tmp_path, both(), {}, method=MUKA)
    assert scores(found)["routing"] == 1
    [said] = [w for w in metrics(found)["warnings"] if "other" in w]
    assert said.startswith(
        "label 'other' of teachers 'billing', 'delivery' is taken for 'none of this teacher's other labels'"
    )
    plain = run(tmp_path / "plain", both(), {"catch_all": []}, method=MUKA)
    assert scores(plain)["routing"] < 0.7
    [said] = [w for w in metrics(plain)["warnings"] if "other" in w]  # by the answers
    assert "If it is a different class for each teacher, set `labels: {keep_apart: [other]}`." in said
    assert '<th scope="col">abstains</th>' not in (plain.folder / "report.html").read_text()
    apart = run(tmp_path / "apart", both(), {"keep_apart": ["other"]}, evaluate=None)
    assert not metrics(apart)["warnings"]


def test_a_teacher_without_such_a_label_gets_the_texts_of_the_others(tmp_path: Path) -> None:
    teachers = [teacher("billing", BILLING, "other"), teacher("delivery", DELIVERY, None)]
    found = run(tmp_path, teachers, {"catch_all": ["other"]}, evaluate=None)
    health = metrics(found)["health"]
    assert health["billing"]["abstains"] == pytest.approx(27 / 63)
    assert health["delivery"]["abstains"] == 0
    plain = run(tmp_path / "plain", teachers, {}, evaluate=None)
    assert metrics(plain)["health"]["billing"]["abstains"] == 0
    [said] = [w for w in metrics(plain)["warnings"] if "other" in w]
    assert said.startswith("label 'other' of teacher 'billing': if it means")


def test_another_choice_is_another_recipe(tmp_path: Path) -> None:
    run(tmp_path, both(), {"catch_all": ["other"]})
    with pytest.raises(AlloyError, match="labels.catch_all"):
        run(tmp_path, both(), {"catch_all": []})


def test_the_fit_depends_on_it(tmp_path: Path) -> None:
    made_of = []
    for labels in ({"catch_all": ["other"]}, {"catch_all": []}, {}):
        found = run(tmp_path, both(), labels, method="ensemble", overwrite=True)
        with safe_open(found.folder / STATE, "pt") as file:
            made_of.append(file.metadata())
    assert made_of[0] == made_of[2] != made_of[1]


def test_multi_label_teachers_have_no_such_label(tmp_path: Path, models: dict[str, Path]) -> None:
    student = {"model": str(models["encoder"])}
    with pytest.raises(AlloyError, match="one label.*multi-label"):
        run(tmp_path, both(), {"catch_all": ["other"]}, method="multi_label", student=student)
