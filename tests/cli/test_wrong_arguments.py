"""From Python, what is not a text, a run or a model is said so; and a stranger's run cannot make its models' code run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from commandline import Call, Finished

import alloykit
from alloykit import AlloyError, Run


class Model:
    """What a loaded model looks like."""

    def save_pretrained(self) -> None: ...


def test_texts_that_are_none(finished: Finished) -> None:
    run = Run(finished.folder)
    cases: list[tuple[Any, str]] = [
        ("a text", "a list of texts; got one str"), ([None], "NoneType at position 0"), (["a", 5], "int at position 1"),
        (None, "a list of texts"), (b"a text", "one bytes"), (5, "a list of texts"), ({"a"}, "a list of texts"),
    ]  # fmt: skip
    for texts, words in cases:
        with pytest.raises(AlloyError, match=words):
            run.predict(texts)
        if not isinstance(texts, str):
            with pytest.raises(AlloyError, match=words):
                list(alloykit.predict(run, texts))
    with pytest.raises(AlloyError, match="a list of pairs"):
        run.predict(["a"], "b")
    with pytest.raises(AlloyError, match="for each of 1 texts"):
        run.predict(["a"], ["b", "c"])
    assert run.predict([]) == []


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
        ({"teachers": [Model()]}, "Save it and its tokenizer with save_pretrained"),
        ({"student": Model()}, "Save it and its tokenizer with save_pretrained"),
        ({"teachers": "teachers/billing"}, "a list of teachers; got 'teachers/billing'"),
        ({"teachers": [None]}, "for each model"),
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
