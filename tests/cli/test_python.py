"""The same from Python: `alloykit.amalgamate(…)` on lists and data sets; a second call reuses everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest
import tiny
from commandline import files_of

import alloykit

LABELS = ("refund", "charge", "invoice", "track", "damaged")
TEXTS = tiny.texts(60)
TRAINING = {"epochs": 2, "learning_rate": 1e-3, "batch_size": 16, "max_length": 32}


def arguments(models: dict[str, Path], output: Path, **changes: Any) -> dict[str, Any]:
    return {
        "teachers": [models["billing"], str(models["delivery"])],
        "texts": TEXTS,
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": {"name": "muka", "passes": 4},
        "training": TRAINING,
        "output": output,
    } | changes


def test_lists_in_a_run_out(models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = [{"text": t, "label": LABELS[i % 5]} for i, t in enumerate(tiny.texts(20, seed=9))]
    given = arguments(models, tmp_path / "run", evaluate=test)
    run = alloykit.amalgamate(**given)
    assert capsys.readouterr().out == "", "a library prints nothing on standard output"
    assert isinstance(run, alloykit.Run)
    assert run.student == tmp_path / "run" / "student"
    assert run.metrics["labels"] == list(LABELS)
    assert set(run.metrics["evaluation"]["scores"]) >= {"teacher billing", "teacher delivery", "ensemble", "student"}
    answers = run.predict(TEXTS[:3])
    assert [set(a) for a in answers] == [{"label", "probability"}] * 3
    assert all(a["label"] in LABELS and 0.2 <= a["probability"] <= 1 for a in answers)

    student, knowledge = files_of(run.student), files_of(run.folder / "cache")
    again = alloykit.amalgamate(**given)
    said = capsys.readouterr().err
    assert files_of(again.student) == student, "no training again"
    assert files_of(again.folder / "cache") == knowledge, "no sweep again"
    assert " steps in " not in said
    assert again.metrics["evaluation"] == run.metrics["evaluation"]

    with pytest.raises(alloykit.AlloyError, match=r"texts.*differ|texts\.in_memory"):
        alloykit.amalgamate(**given | {"texts": TEXTS[:-1]})
    assert files_of(run.student) == student


def test_evaluating_a_run_whose_texts_were_in_memory(models: dict[str, Path], tmp_path: Path) -> None:
    run = alloykit.amalgamate(**arguments(models, tmp_path / "run", method="ensemble", student=None))
    test = tmp_path / "test.csv"
    test.write_text("text,label\n" + "".join(f"{t},{LABELS[i % 5]}\n" for i, t in enumerate(TEXTS[:10])))
    assert alloykit.evaluate(run.folder, test)["texts"] == 10


def test_a_data_set_of_datasets(models: dict[str, Path], tmp_path: Path) -> None:
    names = datasets.ClassLabel(names=list(LABELS))
    table = datasets.Dataset.from_dict(
        {"text": TEXTS, "label": [i % 5 for i in range(60)]},
        features=datasets.Features({"text": datasets.Value("string"), "label": names}),
    )
    given = arguments(models, tmp_path / "run", texts=table, evaluate=table.select(range(20)), method="vanilla_kd")
    run = alloykit.amalgamate(**given)
    assert run.metrics["texts"]["used"] == 60
    assert run.metrics["evaluation"]["texts"] == 20
    listed = alloykit.amalgamate(**arguments(models, tmp_path / "listed", method="vanilla_kd"))
    assert run.predict(TEXTS) == listed.predict(TEXTS), "the same texts, wherever they come from"
    supervised = alloykit.amalgamate(**arguments(models, tmp_path / "s", texts=table, method="supervised"))
    assert supervised.metrics["method"] == {"name": "supervised"}


def test_a_run_from_python_is_a_run_for_the_command(models: dict[str, Path], tmp_path: Path) -> None:
    run = alloykit.amalgamate(**arguments(models, tmp_path / "run", method="vanilla_kd"))
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    told = list(alloykit.predict(run.folder, texts))
    assert [a["label"] for a in told] == [p["label"] for p in run.predict(TEXTS)]
    assert [a["probability"] for a in told] == pytest.approx([p["probability"] for p in run.predict(TEXTS)], abs=1e-5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"texts": []}, "at least one usable text"),
        ({"texts": 5}, "a path, a hub id, a list"),
        ({"texts": ["a", 5, None, ""] * 2 + [""]}, "student"),
        ({"teachers": []}, "teachers"),
        ({"method": "mukka"}, "Did you mean 'muka'"),
        ({"trainig": {}}, "did you mean 'training'"),
        ({"student": None}, "a `student:` for method 'muka'"),
        ({"evaluate": [{"text": "hi", "label": "weather"}]}, "'weather'"),
        ({"method": "supervised"}, "label"),
    ],
)
def test_mistakes_are_alloy_errors(
    changes: dict[str, Any], words: str, models: dict[str, Path], tmp_path: Path
) -> None:
    if words == "student":
        changes = changes | {"student": "no/such/student"}
        words = "no/such/student"
    with pytest.raises(alloykit.AlloyError, match=words):
        alloykit.amalgamate(**arguments(models, tmp_path / "run", **changes))
    assert not (tmp_path / "run").exists()
