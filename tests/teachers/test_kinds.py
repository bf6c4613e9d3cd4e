"""Functions, scikit-learn and models in memory as teachers; what identifies them; and who may run code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
import tiny
import torch
from commandline import Call, write_recipe
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import alloykit
from alloykit import AlloyError, Teacher, from_sklearn
from alloykit.data import load_texts
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.teachers.from_python import held_teacher
from alloykit.teachers.hugging_face import HuggingFaceSpec
from alloykit.teachers.protocol import Reading, TeacherInfo
from alloykit.teachers.scikit_learn import SklearnSpec

TEXTS = ["refund money", "card charge", "late parcel", "my login"]


def rule(texts: list[str]) -> list[Any]:
    """A rule engine: sure of some texts, silent on others."""
    return ["refund" if "refund" in t else {"charge": 0.75, "refund": 0.25} if "card" in t else None for t in texts]


def answered(info: TeacherInfo, texts: list[str] = TEXTS) -> torch.Tensor:
    teacher = info.load(Reading())
    return teacher.answer(teacher.prepare(texts), lambda n: None).logits.exp()


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS * 3, [0, 0, 1, 1] * 3)


def test_a_function_answers_in_any_form() -> None:
    teacher = Teacher(rule, ["refund", "charge"])
    info = teacher.spec.describe(str(teacher.name))
    assert (info.name, info.labels, info.gives.describe()) == (
        "rule",
        ("refund", "charge"),
        "probabilities (not of every text)",
    )
    found = answered(info)
    assert found[:2].tolist() == [pytest.approx([1, 0], abs=2e-6), pytest.approx([0.25, 0.75])]
    assert bool(found[2:].isnan().all())
    for form in (np.array, torch.tensor, list):
        same = Teacher(lambda texts, form=form: form([[0.5, 0.5]] * len(texts)), ["a", "b"])  # type: ignore[misc]
        assert answered(same.spec.describe("same")).tolist() == [pytest.approx([0.5, 0.5])] * 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda texts: [[0.5, 0.5]], "4 answers of teacher 'f' to 4 texts"),
        (lambda texts: [[2.0, -1.0]] * 4, "none negative"),
        (lambda texts: [[1.0]] * 4, "2 probabilities"),
        (lambda texts: ["c"] * 4, "a label of teacher 'f'"),
        (lambda texts: 1 / 0, "ZeroDivisionError"),
        (lambda texts: None, "got a NoneType"),
    ],
)
def test_what_a_function_must_not_return(answer: Any, words: str) -> None:
    with pytest.raises(AlloyError, match=words):
        answered(Teacher(answer, ["a", "b"], name="f").spec.describe("f"))


def test_a_changed_function_is_noticed(tmp_path: Path) -> None:
    texts, seen = load_texts(TEXTS), list[int]()

    def swept(answer: list[float], version: str = "") -> None:
        def function(texts: list[str]) -> list[list[float]]:
            seen.append(len(texts))
            return [answer] * len(texts)

        held = Teacher(function, ["a", "b"], name="f", version=version)
        sweep([held.spec.describe("f")], texts, Store(tmp_path / "store"), SweepOptions())

    swept([0.25, 0.75])
    assert seen == [32, 4], "the probe, then the texts"
    swept([0.2501, 0.7499])
    assert seen == [32, 4, 32], "nearly the same, and nothing is missing"
    with pytest.raises(AlloyError, match="other answers to 32 of 32 fixed texts"):
        swept([0.5, 0.5])
    with pytest.raises(AlloyError, match="identity"):
        swept([0.25, 0.75], version="2")


def test_what_is_finished_is_not_asked_for_again(tmp_path: Path) -> None:
    texts, asked = load_texts([f"text {i}" for i in range(10)]), list[str]()

    def swept(fail_at: str) -> None:
        def function(texts: list[str]) -> list[list[float]]:
            if fail_at in texts:
                raise KeyboardInterrupt
            asked.extend(t for t in texts if t.startswith("text "))
            return [[0.5, 0.5]] * len(texts)

        store = Store(tmp_path / "store", shard_rows=4)
        sweep([Teacher(function, ["a", "b"], name="f").spec.describe("f")], texts, store, SweepOptions())

    with pytest.raises(KeyboardInterrupt):
        swept("text 9")
    assert asked == [f"text {i}" for i in range(8)]
    swept("none")
    assert sorted(asked) == sorted(f"text {i}" for i in range(10)), "each text once"


def test_texts_without_an_answer_reach_the_methods_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, texts = Store(tmp_path / "store"), load_texts(TEXTS)
    sweep([Teacher(rule, ["refund", "charge"]).spec.describe("rule")], texts, store, SweepOptions())
    assert "teacher rule: no answer to 2 of 4 texts (rows 2, 3, counted from 0)" in capsys.readouterr().err
    source = StoredKnowledge(store, ["rule"], texts.ids())
    (teacher,) = source.rows(range(4)).teachers
    assert teacher.answered is not None
    assert teacher.answered.tolist() == [True, True, False, False]
    assert teacher.probabilities()[2:].tolist() == [[0.5, 0.5]] * 2
    assert source.rows([0, 1]).answered() is None


def test_scikit_learn_in_memory_and_in_a_file(pipeline: Pipeline, tmp_path: Path) -> None:
    wanted = torch.from_numpy(pipeline.predict_proba(TEXTS)).float()
    held = from_sklearn(pipeline, {"0": "billing", "1": "other"}, name="svm")
    assert held.labels == ("billing", "other")
    assert torch.allclose(answered(held.spec.describe("svm")), wanted, atol=1e-6)
    skops.io.dump(pipeline, tmp_path / "svm.skops")
    info = SklearnSpec(sklearn=str(tmp_path / "svm.skops"), labels={"0": "billing", "1": "other"}).describe("svm")
    assert torch.allclose(answered(info), wanted, atol=1e-6)
    with pytest.raises(AlloyError, match="real label names"):
        from_sklearn(pipeline)
    with pytest.raises(AlloyError, match="`predict_proba` and `classes_`"):
        from_sklearn(CountVectorizer())
    (tmp_path / "bad.skops").write_bytes(b"\x80\x04.")
    with pytest.raises(AlloyError, match="Pickles are not read"):
        SklearnSpec(sklearn=str(tmp_path / "bad.skops")).describe("bad")


def test_types_that_skops_does_not_trust_need_a_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_words.py").write_text("def own(text):\n    return text.split()\n")
    own = __import__("own_words").own
    model = make_pipeline(CountVectorizer(tokenizer=own, token_pattern=None), LogisticRegression())
    skops.io.dump(model.fit(TEXTS, ["a", "a", "b", "b"]), tmp_path / "svm.skops")
    with pytest.raises(AlloyError, match=r"own_words.own.*trusted: \[own_words.own\]"):
        SklearnSpec(sklearn=str(tmp_path / "svm.skops")).describe("svm")
    spec = SklearnSpec(sklearn=str(tmp_path / "svm.skops"), trusted=["own_words.own"])
    with pytest.raises(AlloyError, match="--trust-python"):
        spec.describe("svm")


class Encoder:
    """What a sentence encoder looks like."""

    def encode(self, texts: list[str]) -> np.ndarray[Any, Any]:
        return np.array([[len(t), t.count("a")] for t in texts], dtype=float)


class UnnamedSetFit:
    """One whose labels nobody has named: its head knows its classes."""

    labels = None

    def __init__(self, head: LogisticRegression) -> None:
        self.model_head = head

    def predict_proba(self, texts: list[str]) -> torch.Tensor:
        return torch.from_numpy(self.model_head.predict_proba(Encoder().encode(texts)))


class SetFit:
    """What a SetFit model looks like."""

    labels = ("a", "b")

    def predict_proba(self, texts: list[str]) -> torch.Tensor:
        return torch.tensor([[0.75, 0.25]] * len(texts))


def test_objects_in_memory(pipeline: Pipeline, models: dict[str, Path]) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers import pipeline as make

    head = LogisticRegression().fit(Encoder().encode(TEXTS), ["a", "a", "b", "b"])
    held = held_teacher((Encoder(), head))
    assert held is not None
    wanted = head.predict_proba(Encoder().encode(TEXTS))
    assert np.allclose(answered(held.spec.describe("x")).numpy(), wanted, atol=1e-5)
    unnamed = held_teacher(UnnamedSetFit(head))
    assert unnamed is not None
    assert np.allclose(answered(unnamed.spec.describe("x")).numpy(), wanted, atol=1e-5)
    fitted = held_teacher(SetFit())
    assert fitted is not None
    assert answered(fitted.spec.describe("x")).tolist() == [pytest.approx([0.75, 0.25])] * 4
    model = AutoModelForSequenceClassification.from_pretrained(models["billing"])
    tokenizer = AutoTokenizer.from_pretrained(models["billing"])
    folder = HuggingFaceSpec(model=str(models["billing"])).describe("billing")
    for given in ((model, tokenizer), make("text-classification", model=model, tokenizer=tokenizer)):
        held = held_teacher(given)
        assert held is not None
        info = held.spec.describe("billing")
        assert info.gives == folder.gives
        assert torch.equal(answered(info), answered(folder))
    assert held_teacher("a folder") is None


OWN = """
def answer(texts):
    open("ran", "w").close()
    return [[0.9, 0.1] if "parcel" in t else [0.5, 0.5] for t in texts]
"""


@pytest.mark.slow
def test_a_recipe_s_function_runs_only_with_the_flag(
    recipe: dict[str, Any], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_rules.py").write_text(OWN)
    recipe |= {"teachers": [recipe["teachers"][0], {"python": "own_rules:answer", "labels": ["track", "damaged"]}]}
    recipe |= {
        "method": "vanilla_kd",
        "texts": {"path": recipe["texts"], "limit": 40},
        "training": {"epochs": 1, "max_length": 32},
    }
    path = write_recipe(tmp_path, recipe)
    call("plan", path, "--no-probe").refused("python: own_rules:answer", "--trust-python")
    call("amalgamate", path).refused("--trust-python")
    assert "own_rules" not in sys.modules
    shown = call("plan", path, "--no-probe", "--trust-python").out
    assert "methods for these teachers: muka (passes: 0), alloy, vanilla_kd, uhc" in shown
    assert "gives probabilities (not of every text)" in shown
    assert not (tmp_path / "ran").exists()
    assert call("amalgamate", path, "--trust-python").code == 0
    assert (tmp_path / "ran").exists()
    call("evaluate", recipe["output"]).refused("--trust-python")
    assert call("evaluate", recipe["output"], "--trust-python").code == 0
    recipe["teachers"][1]["python"] = "own_rules:missing"
    recipe["output"] += "-2"
    call("plan", write_recipe(tmp_path, recipe), "--trust-python", "--no-probe").refused(
        "own_rules:missing", "AttributeError"
    )


def test_methods_that_these_teachers_cannot_serve(recipe: dict[str, Any], tmp_path: Path, call: Call) -> None:
    (tmp_path / "llm.jsonl").write_text('{"text": "a", "track": 0.5, "damaged": 0.5}\n')
    recipe["teachers"][1] = {"answers": str(tmp_path / "llm.jsonl"), "name": "llm"}
    path = write_recipe(tmp_path, recipe)
    for command in ("plan", "amalgamate"):
        call(command, path).refused("teacher 'llm' gives no Monte-Carlo passes", "muka (passes: 0), alloy, vanilla_kd")
    for method, words in (
        ("dfa", "gives no token states"),
        ("cfl", "gives no states"),
        ("as_dfd", "is not a model of transformers"),
    ):
        call("plan", path, "-o", f"method={method}").refused(f"teacher 'llm' {words}")
    assert not Path(recipe["output"]).exists()


def test_alloy_without_states_and_without_an_encoder(recipe: dict[str, Any], tmp_path: Path, call: Call) -> None:
    for at, label in enumerate(("track", "damaged")):
        answers = [json.dumps({"text": text, label: 0.75, "other": 0.25}) for text in tiny.texts(80)]
        (tmp_path / f"{label}.jsonl").write_text("\n".join(answers))
        recipe["teachers"][at] = {"answers": str(tmp_path / f"{label}.jsonl"), "name": label}
    path = write_recipe(tmp_path, recipe | {"method": {"name": "alloy", "encoder": None}})
    words = "no teacher gives states, and the method has no encoder", "Name an encoder", "vanilla_kd"
    for command in ("plan", "amalgamate"):
        call(command, path).refused(*words)
    assert call("plan", write_recipe(tmp_path, recipe | {"method": "alloy", "evaluate": None}), "--no-probe").code == 0


@pytest.mark.slow
def test_a_student_in_memory(recipe: dict[str, Any], models: dict[str, Path], tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    student = (AutoModel.from_pretrained(models["encoder"]), AutoTokenizer.from_pretrained(models["encoder"]))
    given = {
        "teachers": [Teacher(rule, ["refund", "charge"])], "texts": TEXTS * 10, "student": student, "method": "vanilla_kd",
        "training": {"epochs": 1, "max_length": 32}, "output": tmp_path / "run",
    }  # fmt: skip
    run = alloykit.amalgamate(**given)
    assert alloykit.amalgamate(**given).student == run.student, "the same model is the same student"
    torch.nn.init.ones_(student[0].embeddings.word_embeddings.weight)
    with pytest.raises(AlloyError, match="the recipe that made"):
        alloykit.amalgamate(**given)


@pytest.mark.slow
def test_in_memory_end_to_end(recipe: dict[str, Any], models: dict[str, Path], tmp_path: Path, call: Call) -> None:
    texts = tiny.texts(120)
    sure = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts[:40], ["track", "damaged"] * 20)
    given = {
        "teachers": [str(models["billing"]), from_sklearn(sure, name="svm"), Teacher(rule, ["refund", "charge"])],
        "texts": texts, "student": recipe["student"], "output": tmp_path / "memory",
        "training": {"epochs": 1, "max_length": 32, "learning_rate": 1e-3},
    }  # fmt: skip
    run = alloykit.amalgamate(**given)
    assert run.metrics is not None
    assert run.metrics["teachers"] == {
        "billing": ["refund", "charge", "invoice"],
        "svm": ["damaged", "track"],
        "rule": ["refund", "charge"],
    }
    assert any("teacher 'rule' has no answer" in warning for warning in run.metrics["warnings"])
    assert "in_memory" in (run.folder / "recipe.yaml").read_text()
    assert alloykit.amalgamate(**given).student == run.student, "a second call finds everything finished"
    data = recipe["evaluate"]["data"]["path"]
    del given["teachers"]
    call("evaluate", run.folder, "--data", data).refused("passed from Python's memory", "teachers=[…]")
    again = [from_sklearn(sure, name="svm"), Teacher(rule, ["refund", "charge"])]
    scores = run.evaluate(data, teachers=again)["scores"]
    assert {"teacher billing", "teacher svm", "teacher rule", "routing", "student"} <= set(scores)
