"""Texts of the recipe's `labelled:`: what the student learns from them, and which methods can use them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import toy
from commandline import Call, Taught, write_csv, write_recipe

from alloykit.errors import AlloyError
from alloykit.methods.registry import create
from alloykit.methods.requirements import require_few_labels
from alloykit.training.module import _with_given_labels


def test_a_given_label_replaces_the_method_s_loss() -> None:
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    per_text, given = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([-1, 2, -1, 0])
    found = _with_given_labels(per_text, logits, given).tolist()
    for x in range(4):
        if given[x] < 0:
            assert found[x] == float(per_text[x])
        else:
            each = [math.exp(v) for v in logits[x].tolist()]
            assert found[x] == pytest.approx(-math.log(each[int(given[x])] / sum(each)), rel=1e-5)


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("supervised", "labels of all texts"),
        ("ensemble", "no student"),
        ("as_dfd", "examples that the method makes"),
        ("dfa", "teachers in memory"),
    ],
)
def test_methods_that_cannot_use_them(method: str, why: str) -> None:
    with pytest.raises(AlloyError, match=why):
        require_few_labels(create({"name": method}))


@pytest.mark.parametrize("method", ["alloy", "muka", "vanilla_kd", "uhc"])
def test_methods_that_can(method: str) -> None:
    require_few_labels(create({"name": method}))


@pytest.mark.slow
def test_a_student_learns_labels_that_no_teacher_would_give(taught: Taught, tmp_path: Path, call: Call) -> None:
    """The given labels are those of the other teacher's texts, so only the labelled texts can have taught them."""
    few, swapped = tmp_path / "few.csv", {"refund": "damaged", "damaged": "refund"}
    found = [(text, swapped[label]) for text, label in toy.examples(40, seed=7, labels=tuple(swapped))]
    write_csv(few, found, ("text", "label"))
    values: dict[str, Any] = {
        "teachers": [str(path) for path in taught.teachers.values()],
        "texts": [],
        "student": {"model": str(taught.encoder), "layers": 2},
        "method": "vanilla_kd",
        "training": {"epochs": 16, "learning_rate": 0.01, "batch_size": 16, "max_length": 32, "select": "last"},
        "labelled": {"data": {"path": str(few), "label": "label"}},
        "evaluate": {"data": {"path": str(few), "label": "label"}},
        "output": str(tmp_path / "run"),
    }
    pool = tmp_path / "pool.csv"
    write_csv(pool, [(text,) for text, _ in toy.examples(40, seed=8, labels=("charge", "invoice", "track"))])
    values["texts"] = str(pool)
    result = call("amalgamate", write_recipe(tmp_path, values))
    assert result.code == 0, result.err
    run = Path(values["output"])
    scores = json.loads((run / "metrics.json").read_text())["evaluation"]["scores"]
    assert scores["student"]["accuracy"] > 0.9
    assert scores["ensemble"]["accuracy"] < 0.2
    assert json.loads((run / "inputs.json").read_text())["labelled"] is not None

    few.write_text(few.read_text() + '"another text",refund\n')
    again = call("amalgamate", write_recipe(tmp_path, values))
    again.refused("labelled")

    unknown = tmp_path / "unknown.csv"
    unknown.write_text("text,label\nsome text,nobody\n")
    values["labelled"] = {"data": {"path": str(unknown), "label": "label"}}
    call("plan", write_recipe(tmp_path, values)).refused("nobody")
