"""A method from another package that needs text states, tells odd things in the report, or fails there: the run keeps its student."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from commandline import write_csv

import alloykit
from alloykit.commands.evaluate import evaluate
from alloykit.commands.report import report
from alloykit.errors import AlloyError
from alloykit.methods import registry
from alloykit.methods.protocol import Context, Method, MethodOptions, Needs, Supervision, TextStates, uniform_weights
from alloykit.methods.report_sections import MethodReport, Section, Series, Table, Text

pytestmark = pytest.mark.slow

LABELS = ["refund", "charge", "track"]
DEFECTS = ("none", "keys", "raises", "late", "shape", "nothing", "log")


class OutsideOptions(MethodOptions):
    encoder: str = "bundled:minilm"
    defect: str = "none"
    token_states: bool = False


class Outside(Method):
    """A single target that depends on the frozen encoder's states, wherever it is asked for."""

    name, title, reference, Options = "outside", "Outside", "nobody", OutsideOptions
    options: OutsideOptions

    @property
    def needs(self) -> Needs:
        return Needs(
            text_states=TextStates(self.options.encoder), validation=True, token_states=self.options.token_states
        )

    @property
    def batch_coupled(self) -> bool:
        return True  # then training asks for the targets of its own batches

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        return tuple((t.layers,) if self.options.token_states else () for t in context.teachers)

    def fit(self, pool: Any, context: Context) -> dict[str, torch.Tensor]:
        assert context.validation_source.rows([0]).text_states is not None
        return {"mean": torch.cat([pool.rows([i]).text_states.float() for i in range(len(pool))]).mean(0)}

    def supervise(self, rows: Any, context: Context) -> Supervision:
        assert context.validation is None, "what `evaluate` cannot give again is in no other call either"
        if rows.text_states is None:
            raise RuntimeError("no text states")
        training = len(rows.text_states) < 40  # its batches have 8 texts, its checks 30
        sign = ((rows.text_states.float() - context.state["mean"].to(rows.text_states.device))[:, :3] > 0).float()
        targets = torch.softmax(rows.teachers[0].logits + sign, -1)
        found = Supervision(targets, uniform_weights(targets))
        if self.options.defect == "late" and not training:
            raise ZeroDivisionError("only small batches")
        if self.options.defect == "shape" and not training:
            return Supervision(targets[:, :2], found.weights)
        return None if self.options.defect == "nothing" and not training else found  # type: ignore[return-value]

    def after_step(self, step: Any) -> None:
        if step.logs:
            step.log({"seen": torch.tensor(0.5)} if self.options.defect != "log" else {"seen": object()})

    def fit_report(self, context: Context, teachers: Any) -> Any:
        if self.options.defect == "keys":
            return {"shares": {"a": [1.0]}}
        if self.options.defect == "raises":
            raise KeyError("shares")
        text = Text(text="odd <b>words</b> & `ticks`")
        table = Table(caption="first texts", columns=("x",), rows=((None,), (0.25,)), percent=("x",), positions=(0, 3))
        return MethodReport(
            warnings=("the outside method warns",), sections=(Section(title="Odd", parts=(text, table)),)
        )

    def training_report(self, modules: Any, context: Context, teachers: Any, history: Any) -> Any:
        if self.options.defect == "raises":
            raise ValueError("nothing\nto tell")
        if self.options.defect == "keys":
            return [1, 2]
        seen = [h for h in history if "seen" in h]
        lines = {"seen": [h["seen"] for h in seen]}
        series = Series(
            caption="seen", x="step", y="share", points=[h["step"] for h in seen], lines=lines, percent=True
        )
        return MethodReport(sections=(Section(title="Outside training", parts=(series,)),))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(name="outside", value="other:Outside", load=lambda: Outside)
    monkeypatch.setattr(registry, "installed_methods", cache(lambda: (entry,)))


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.classifier(tmp_path_factory.mktemp("teacher") / "one", LABELS, "bert")


def amalgamated(teacher: Path, models: dict[str, Path], folder: Path, **options: Any) -> Any:
    texts = tiny.texts(40)

    def labelled(n: int, seed: int) -> dict[str, str]:
        table = [(text, LABELS[k % 3]) for k, text in enumerate(tiny.texts(n, seed=seed))]
        path = write_csv(folder / f"labelled-{n}.csv", table, ("text", "label"))
        return {"path": str(path), "label": "label"}

    return alloykit.amalgamate(
        teachers=[str(teacher)],
        texts=texts,
        student={"model": str(models["encoder"]), "layers": 1},
        method={"name": "outside", "encoder": str(models["encoder"]), **options},
        training={"epochs": 1, "batch_size": 8, "max_length": 32, "check_every": 4, "select": "labelled"},
        validation=labelled(30, 3),
        evaluate=labelled(45, 4),
        report={"show_texts": True},
        output=folder / "run",
    )


def told(run: Any, part: str) -> list[str]:
    return [line for line in run.metrics["warnings"] if f"could not give {part}" in line]


def test_text_states_reach_the_method_wherever_it_is_asked(
    teacher: Path, models: dict[str, Path], tmp_path: Path
) -> None:
    run = amalgamated(teacher, models, tmp_path)
    assert "the outside method warns" in run.metrics["warnings"]
    assert not told(run, "")
    assert "routing" in run.metrics["evaluation"]["scores"]
    assert run.metrics["supervision"]["texts"] == 40
    page = run.report_page.read_text(encoding="utf-8")
    assert "odd &lt;b&gt;words&lt;/b&gt; &amp; <code>ticks</code>" in page
    assert "25.0\u00a0%" in page
    assert tiny.texts(40)[3] in page
    assert ">Outside training</h2>" in page
    before = json.loads(json.dumps(run.metrics["evaluation"]["scores"]))
    assert json.loads(json.dumps(evaluate(run.folder)["scores"])) == before, "from the folder alone"
    assert report([run.folder]).exists()


@pytest.mark.parametrize(
    ("defect", "parts", "why"),
    [
        ("keys", ["its report on the fit", "its report on the training"], "shares"),
        ("raises", ["its report on the fit", "its report on the training"], "KeyError: 'shares'"),
        ("late", ["its targets of the pool", "answers to the test texts"], "ZeroDivisionError: only small batches"),
        ("shape", ["its targets of the pool", "answers to the test texts"], "gave targets of shape (40, 2); expected (40, 3)"),
        ("nothing", ["its targets of the pool", "answers to the test texts"], "gave None"),
    ],
)  # fmt: skip
def test_a_method_that_fails_in_its_reporting_costs_its_part_of_the_report_alone(
    defect: str, parts: list[str], why: str, teacher: Path, models: dict[str, Path], tmp_path: Path
) -> None:
    with_tokens = defect == "keys"  # text states and token states together
    run = amalgamated(teacher, models, tmp_path, defect=defect, token_states=with_tokens)
    assert run.has_student
    assert run.predict(["late parcel"])[0]["label"] in LABELS
    assert run.metrics["evaluation"]["scores"]["student"]["accuracy"] >= 0
    page = run.report_page.read_text(encoding="utf-8")
    for part in parts:
        assert told(run, part), f"the report says that {part} failed"
        assert all(line.startswith("method 'outside'") and "\n" not in line for line in told(run, part))
    assert any(why in line for part in parts for line in told(run, part))
    assert "could not give" in page
    assert ("routing" in run.metrics["evaluation"]["scores"]) is (defect in ("keys", "raises"))
    evaluate(run.folder)
    assert len(run.metrics["warnings"]) == len(set(run.metrics["warnings"])), "said once, however often it is evaluated"


def test_a_note_that_is_no_number_fails_at_the_first_one(
    teacher: Path, models: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises((TypeError, AlloyError), match=r"float\(\) argument|number"):
        amalgamated(teacher, models, tmp_path, defect="log")
