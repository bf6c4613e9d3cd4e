"""`evaluate`: the numbers are those that scikit-learn computes from what `predict` answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny
from commandline import Call, Finished, Taught, collect, write_csv
from sklearn.metrics import accuracy_score, f1_score
from toy import TEAMS, examples

import alloykit
from alloykit.errors import AlloyError
from alloykit.finished_runs import evaluate_folder

TRUTH = [label for _, label in examples(40, seed=5)]  # of the finished run's test texts


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    """A copy, because evaluating brings metrics.json up to date."""
    shutil.copytree(finished.folder, tmp_path / "copy", copy_function=shutil.copy2)
    return tmp_path / "copy"


def by_hand(answers: list[dict[str, Any]], truth: list[str]) -> dict[str, Any]:
    said = [a["label"] for a in answers]
    groups = {}
    for name, labels in TEAMS.items():
        mine = [(t, s) for t, s in zip(truth, said, strict=True) if t in labels]
        groups[name] = accuracy_score(*zip(*mine, strict=True)) if mine else None
    f1 = f1_score(truth, said, labels=sorted(set(truth)), average="macro", zero_division=0)
    return {"accuracy": accuracy_score(truth, said), "macro_f1": f1, "groups": groups}


def test_the_students_numbers_follow_from_its_answers(finished: Finished, run: Path, call: Call) -> None:
    before = (run / "run.log").read_text()
    result = call("evaluate", run, "--json")
    assert result.code == 0, result.err
    lines = (run / "run.log").read_text().removeprefix(before).splitlines()
    assert [line[20:] for line in lines] == result.err.splitlines() != [], "the run's log has what was printed, too"
    found = json.loads(result.out)
    assert found["texts"] == 40
    answers = call("predict", run, finished.test).lines
    assert len({a["label"] for a in answers}) >= 2, "a student that says one thing always would prove nothing"
    expected = by_hand(answers, TRUTH)
    student = found["scores"]["student"]
    assert {k: student[k] for k in ("accuracy", "macro_f1")} == pytest.approx(
        {k: expected[k] for k in ("accuracy", "macro_f1")}
    )
    assert student["groups"] == pytest.approx(expected["groups"])


def test_the_teachers_numbers_follow_from_their_answers(
    finished: Finished, taught: Taught, run: Path, call: Call
) -> None:
    scores = json.loads(call("evaluate", run, "--json").out)["scores"]
    assert list(scores) == ["teacher billing", "teacher delivery", "ensemble", "routing", "oracle routing", "student"]
    for name in TEAMS:
        expected = by_hand(call("predict", taught.teachers[name], finished.test).lines, TRUTH)
        assert scores[f"teacher {name}"]["accuracy"] == pytest.approx(expected["accuracy"])
        assert scores[f"teacher {name}"]["macro_f1"] == pytest.approx(expected["macro_f1"])
        assert scores[f"teacher {name}"]["groups"] == pytest.approx(expected["groups"])
    assert 0 <= scores["routing"]["correct_teacher"] <= 1
    assert scores["teacher billing"]["groups"]["delivery"] == 0


@pytest.mark.slow
def test_other_data_with_other_columns(run: Path, tmp_path: Path, call: Call) -> None:
    """Only some labels, in a file whose columns are called otherwise; the group without texts has no number."""
    texts = [text for text, _ in examples(12, seed=21)]
    # One label is rare, and a third of the texts has the label that the student gives.
    said = [a["label"] for a in call("predict", run, stdin="\n".join(texts)).lines]
    truth = ["refund" if n % 3 else label for n, label in enumerate(said)]
    truth = [label if label in TEAMS["billing"] else "invoice" for label in truth]
    rows = list(zip(truth, texts, strict=True))
    data = write_csv(tmp_path / "other.csv", rows, ("topic", "body"))
    result = call("evaluate", run, "--data", data, "--text", "body", "--label", "topic", "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    expected = by_hand(call("predict", run, data, "--text", "body").lines, truth)
    assert found["scores"]["student"]["accuracy"] == pytest.approx(expected["accuracy"])
    assert found["scores"]["student"]["macro_f1"] == pytest.approx(expected["macro_f1"])
    assert found["scores"]["student"]["groups"] == {"billing": pytest.approx(expected["accuracy"]), "delivery": None}
    assert json.loads((run / "metrics.json").read_text())["evaluation"] == found
    assert not found["of_recipe"]
    table = call("evaluate", run, "--data", data, "--text", "body", "--label", "topic")
    assert "accuracy on 12 labelled texts" in table.out
    assert f"{100 * expected['accuracy']:.1f}" in table.out
    assert "–" in table.out


def test_the_same_numbers_as_at_the_end_of_the_run(finished: Finished, run: Path, call: Call) -> None:
    before = json.loads((run / "metrics.json").read_text())
    result = call("evaluate", run)
    assert result.code == 0, result.err
    assert result.out.strip() == "\n".join(finished.result.out.splitlines()[:-2]).strip()
    assert json.loads((run / "metrics.json").read_text()) == before


def test_a_model_folder(finished: Finished, call: Call) -> None:
    student = finished.folder / "student"
    found = json.loads(call("evaluate", student, "--data", finished.test, "--json").out)
    expected = by_hand(call("predict", student, finished.test).lines, TRUTH)
    assert found["scores"]["model"]["accuracy"] == pytest.approx(expected["accuracy"])
    assert found["scores"]["model"]["macro_f1"] == pytest.approx(expected["macro_f1"])


def test_labels_that_a_model_does_not_know_are_refused_before_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny.classifier(tmp_path / "model", ["red", "green"])
    monkeypatch.setattr(evaluate_folder, "probabilities_of", lambda *given: pytest.fail("texts were read"))
    with pytest.raises(AlloyError, match="got 'blue'.*leave out their texts"):
        alloykit.evaluate(folder, [{"text": "a card", "label": "blue"}])


def test_a_model_of_several_questions_has_no_accuracy_of_one(tmp_path: Path, call: Call) -> None:
    """The most likely of all labels answers one of the questions only, so it would be wrong for the others."""
    folder = tiny.classifier(tmp_path / "model", ["t: a", "t: b", "s: c", "s: d"])
    config = json.loads((folder / "config.json").read_text())
    questions = [{"question": "t", "labels": ["a", "b"]}, {"question": "s", "labels": ["c", "d"]}]
    (folder / "config.json").write_text(json.dumps(config | {"alloykit_questions": questions}))
    data = write_csv(tmp_path / "d.csv", [["a text", "t: a"]], ("text", "label"))
    call("evaluate", folder, "--data", data).refused("a student that answers one question", "t, s", "questions/t")


def test_a_run_whose_training_texts_are_gone(
    finished: Finished, taught: Taught, run: Path, tmp_path: Path, call: Call
) -> None:
    """Testing on other data needs the student and the teachers, not what it was trained on."""
    recipe = run / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace(str(taught.data), str(tmp_path / "gone.csv")))
    assert "gone.csv" in recipe.read_text()
    result = call("evaluate", run, "--data", finished.test, "--json")
    assert result.code == 0, result.err


BAD = {
    "no run": (("nowhere", "--data", "test.csv"), ("'nowhere'", "does not exist")),
    "no data for a model": (("STUDENT",), ("labelled test texts", "--data")),
    "missing data": (("RUN", "--data", "no.csv"), ("no.csv",)),
    "data of a name that is too long": (("RUN", "--data", "x" * 5000), ("`path`", "a file system can hold")),
    "wrong column": (("RUN", "--data", "test.csv", "--label", "topic"), ("column 'topic'", "'label'")),
    "foreign labels": (("RUN", "--data", "foreign.csv"), ("'weather'", "refund")),
    "foreign labels for a model": (("STUDENT", "--data", "foreign.csv"), ("'weather'", "refund")),
    "integer labels": (("RUN", "--data", "numbers.jsonl"), ("names for integer labels",)),
    "unfinished run": (("HALF", "--data", "test.csv"), ("finished run", "alloykit amalgamate")),
}


@pytest.mark.parametrize("name", BAD)
def test_evaluate_refuses(name: str, run: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "test.csv", [("my card", "refund")], ("text", "label"))
    write_csv(tmp_path / "foreign.csv", [("my card", "weather")], ("text", "label"))
    (tmp_path / "numbers.jsonl").write_text('{"text": "my card", "label": 0}\n')
    (tmp_path / "half").mkdir()
    shutil.copy(run / "recipe.yaml", tmp_path / "half" / "recipe.yaml")
    before = (run / "metrics.json").read_bytes()
    arguments, words = BAD[name]
    places = {"RUN": run, "STUDENT": run / "student", "HALF": tmp_path / "half"}
    result = call("evaluate", *(places.get(a, a) for a in arguments))
    collect(f"evaluate: {name}", result)
    result.refused(*words)
    assert (run / "metrics.json").read_bytes() == before
    left = [p.name for p in (tmp_path / "half").iterdir() if p.name != ".alloykit.lock"]
    assert left == ["recipe.yaml"]
