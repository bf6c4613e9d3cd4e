"""From Python, what is not a text, a run or a model is said so; and a stranger's run cannot make its models' code run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml
from commandline import Call, Finished
from toy import LABELS

import alloykit
from alloykit import AlloyError, Run
from alloykit.serving.predictor import Predictor


class Model:
    """What a loaded model looks like."""

    def save_pretrained(self) -> None: ...


def test_texts_that_are_none(finished: Finished) -> None:
    run = Run(finished.folder)
    cases: list[tuple[Any, str]] = [
        ([None], "NoneType at position 0"), (["a", 5], "int at position 1"),
        (None, "a list of texts"), (b"a text", "one bytes"), (5, "a list of texts"), ({"a"}, "a list of texts"),
    ]  # fmt: skip
    for texts, words in cases:
        with pytest.raises(AlloyError, match=words):
            run.predict(texts)
        with pytest.raises(AlloyError, match=words):
            list(alloykit.predict(run, texts))
    with pytest.raises(AlloyError, match="a list of pairs"):
        run.predict(["a"], "b")
    with pytest.raises(AlloyError, match="a string as the second text of one text; got a list"):
        run.predict("a", ["b"])  # type: ignore[call-overload]
    with pytest.raises(AlloyError, match="for each of 1 texts"):
        run.predict(["a"], ["b", "c"])
    assert run.predict([]) == []


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"name": "muka", "pases": 4}, "pases: unknown key; did you mean 'passes'"),
        (5, "method: give a name"),
        ({"passes": 4}, "method: give a name"),
    ],
)
def test_what_is_no_method(method: Any, words: str, tmp_path: Path) -> None:
    """Also where the texts are in memory: whether they need labels depends on the method."""
    for texts in (["a text"], str(tmp_path / "texts.csv")):
        with pytest.raises(AlloyError, match=words):
            alloykit.amalgamate(teachers=["a"], texts=texts, method=method, output=tmp_path / "run")


def test_a_data_set_of_several_splits_is_no_block(tmp_path: Path) -> None:
    data = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": ["a"]})})
    for arguments in ({"texts": data}, {"texts": ["a"], "evaluate": data}):
        with pytest.raises(AlloyError, match=r"DatasetDict with splits 'train'\. Choose one split"):
            alloykit.plan(["teachers/billing"], output=tmp_path / "run", **arguments)


def test_a_run_is_as_good_as_its_folder(finished: Finished, tmp_path: Path) -> None:
    run = Run(str(finished.folder))  # type: ignore[arg-type]
    assert run == Run(finished.folder)
    texts = ["refund the card", "my parcel"]
    expected = [answer["label"] for answer in run.predict(texts)]
    assert [answer["label"] for answer in alloykit.predict(run, texts)] == expected
    copy = Run(Path(shutil.copytree(finished.folder, tmp_path / "copy")))
    assert alloykit.evaluate(copy)["texts"] == 40
    with pytest.raises(AlloyError, match="got a int"):
        Run(5)  # type: ignore[arg-type]
    with pytest.raises(AlloyError, match="got a NoneType"):
        alloykit.evaluate(None)  # type: ignore[arg-type]
    for nowhere in (str(tmp_path / "nowhere"), "x" * 5000, "a\0b"):
        with pytest.raises(AlloyError, match="does not exist"):
            Run(nowhere).predict(["a"])  # type: ignore[arg-type]
        with pytest.raises(AlloyError, match="does not exist"):
            alloykit.evaluate(nowhere)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"teachers": [Model()]}, r"save both with save_pretrained\(folder\)"),
        ({"student": Model()}, "Save it and its tokenizer with save_pretrained"),
        ({"teachers": "teachers/billing"}, "a list of teachers; got 'teachers/billing'"),
        ({"teachers": [None]}, "for each teacher"),
        ({"teachers": None}, "a list of teachers"),
    ],
)
def test_what_is_no_model(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"teachers": ["a"], "texts": ["a text"], "student": "b", "output": tmp_path / "run"}
    with pytest.raises(AlloyError, match=words):
        alloykit.amalgamate(**given | changes)


@pytest.mark.parametrize("where", ["teachers", "student"])
def test_a_run_s_own_recipe_cannot_grant_trust(where: str, finished: Finished, tmp_path: Path, call: Call) -> None:
    folder = shutil.copytree(finished.folder, tmp_path / "run")
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text())
    block = recipe["teachers"][1] if where == "teachers" else recipe["student"]
    block["trust_remote_code"] = True
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    call("evaluate", folder).refused("trust_remote_code: true", where, block["model"], "--trust-remote-code")
    assert call("evaluate", folder, "--trust-remote-code").code == 0
    assert call("predict", folder, stdin="refund").code == 0, "predict loads the student alone, and never with trust"


def test_one_text_all_probabilities_and_one_loading(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    load = Predictor.load.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(Predictor, "load", classmethod(lambda cls, *a, **k: loaded.append(a) or load(cls, *a, **k)))
    run = Run(str(finished.folder))
    one = run.predict("refund the card")
    assert [one] == run.predict(["refund the card"])
    every = run.predict(["refund the card", "my parcel"], all_probabilities=True)
    assert [{k: a[k] for k in ("label", "probability")} for a in every] == run.predict(["refund the card", "my parcel"])
    for answer in every:
        assert (
            answer["probabilities"][answer["label"]] == answer["probability"] == max(answer["probabilities"].values())
        )
        assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert len(loaded) == 1


def test_a_student_that_changed_is_loaded_again(finished: Finished, tmp_path: Path) -> None:
    copy = Run(Path(shutil.copytree(finished.folder, tmp_path / "copy")))
    assert copy.predict("parcel")["label"] in LABELS
    shutil.rmtree(copy.student)
    with pytest.raises(AlloyError, match="does not exist"):
        copy.predict("parcel")


@pytest.mark.slow
def test_a_run_evaluates_itself_and_writes_its_report(finished: Finished, tmp_path: Path) -> None:
    copy = Run(shutil.copytree(finished.folder, tmp_path / "copy"))
    other = shutil.copytree(finished.folder, tmp_path / "other")
    assert copy.evaluate() == alloykit.evaluate(other)
    assert copy.evaluate(finished.test)["texts"] == 40
    copy.report_page.unlink()
    assert copy.report() == copy.report_page
    assert copy.report_page.exists()
    assert alloykit.report(copy, tmp_path / "page.html").read_bytes() == copy.report_page.read_bytes()
    with pytest.raises(AlloyError, match="got a int"):
        alloykit.report(5)  # type: ignore[arg-type]
    with pytest.raises(AlloyError, match="an empty list"):
        alloykit.report([])
