"""The student's folder carries what `predict` needs: its length and its temperature; and the card's code works as it stands."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from commandline import Call, Finished
from toy import examples
from transformers import AutoTokenizer

import alloykit
from alloykit.errors import AlloyError
from alloykit.serving.predictor import Predictor
from alloykit.stats.temperature import tempered

TEXTS = [text for text, _ in examples(8, seed=6)]
LONG = " ".join(text for text, _ in examples(300, seed=7))


def snippets(finished: Finished) -> list[str]:
    """The card's blocks of Python, with this machine's folder in place of the card's words."""
    card = (finished.folder / "student" / "README.md").read_text()
    found = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    return [code.replace("this folder", str(finished.folder / "student")) for code in found]


def test_the_folder_reads_as_much_of_a_text_as_training_did(finished: Finished) -> None:
    tokenizer = AutoTokenizer.from_pretrained(finished.folder / "student")
    assert tokenizer.model_max_length == 32
    assert Predictor.load(finished.folder / "student").max_length == 32
    assert len(tokenizer(LONG, truncation=True).input_ids) == 32


def test_the_cards_code_answers_a_long_text_as_predict_does(finished: Finished, call: Call) -> None:
    (answer,) = call("predict", finished.folder, stdin=LONG).lines
    values: dict[str, Any] = {}
    plain, calibrated = snippets(finished)
    exec(plain.replace('"a text"', repr(LONG)), values)
    labels = [entry["label"] for entry in values["classify"](LONG, top_k=None)]
    assert labels[0] == answer["label"]
    exec(calibrated.replace('"a text"', repr(LONG)), values)
    assert float(values["probabilities"].max()) == pytest.approx(answer["probability"], abs=1e-5)


def test_the_temperature_is_applied_and_said(finished: Finished, call: Call) -> None:
    student = finished.folder / "student"
    temperature = json.loads((finished.folder / "metrics.json").read_text())["student"]["temperature"]
    assert json.loads((student / "config.json").read_text())["alloykit_temperature"] == temperature != 1.0
    assert f"temperature {temperature:.3g}" in (student / "README.md").read_text()
    predictor = Predictor.load(student)
    bare = predictor.probabilities(TEXTS, calibrated=False)
    assert torch.allclose(predictor.probabilities(TEXTS).double(), tempered(bare, temperature), atol=1e-6)
    assert predictor.probabilities(TEXTS).argmax(-1).equal(bare.argmax(-1)), "no label changes"
    told = call("predict", finished.folder, stdin="\n".join(TEXTS)).lines
    expected = predictor.probabilities(TEXTS).max(-1).values.tolist()
    assert [a["probability"] for a in told] == pytest.approx(expected, abs=1e-5)
    run = alloykit.Run(finished.folder).predict(TEXTS)
    assert [p["probability"] for p in run] == pytest.approx(expected, abs=1e-5)


def test_a_second_call_keeps_the_temperature_and_measures_the_bare_answers(
    finished: Finished, tmp_path: Path, call: Call
) -> None:
    """If calibrated answers were calibrated again, each call would change the figures."""
    before = json.loads((finished.folder / "metrics.json").read_text())["student"]
    recipe = tmp_path / "recipe.yaml"
    copy = shutil.copytree(finished.folder, tmp_path / "run", copy_function=shutil.copy2)
    recipe.write_text(finished.recipe.read_text().replace(str(finished.folder), str(copy)))
    assert call("amalgamate", recipe).code == 0
    after = json.loads((copy / "metrics.json").read_text())["student"]
    assert after["temperature"] == before["temperature"]
    assert after["mean_confidence"] == pytest.approx(before["mean_confidence"], rel=1e-4)


@pytest.mark.parametrize(
    ("labels", "changed", "words"),
    [
        (("score",), {}, "at least two labels .*; got 1 label"),
        (("a", "b"), {"problem_type": "regression"}, "got a regression head"),
        (("a", "b"), {"id2label": {"0": "a", "1": "a"}, "label2id": {"a": 1}}, "different labels .*; got 'a' more than once"),
    ],
)  # fmt: skip
def test_what_is_no_classifier_gives_no_answers(
    labels: tuple[str, ...], changed: dict[str, Any], words: str, tmp_path: Path
) -> None:
    folder = tiny.classifier(tmp_path / "model", labels, "bert", seed=1)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changed))
    with pytest.raises(AlloyError, match=words):
        next(alloykit.predict(folder, ["a text"]))
