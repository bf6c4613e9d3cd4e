"""The same from Python: `alloykit.amalgamate(…)` on lists and data sets; a second call reuses everything."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_origin, get_type_hints

import datasets
import pytest
import tiny
from commandline import files_of

import alloykit
import alloykit.data
from alloykit.engines.engine_options import EngineOptions
from alloykit.generation.generation_options import GenerationOptions, LanguageModel
from alloykit.recipe import recipe_blocks, typed
from alloykit.teachers.function import PythonSpec
from alloykit.teachers.hugging_face import HuggingFaceSpec
from alloykit.teachers.onnx import OnnxSpec
from alloykit.teachers.scikit_learn import SklearnSpec
from alloykit.teachers.service import ServiceSpec
from alloykit.teachers.stored_answers import AnswersSpec
from alloykit.teachers.zero_shot import ZeroShotSpec
from alloykit.training.training_options import StudentSpec, TrainingOptions

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        ({"training": {"epoch": 1}}, "training.epoch: unknown key; did you mean 'epochs'"),
        ({"device": "tpu"}, "device"),
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


class Classifier:
    """A fitted one of scikit-learn's kind."""

    classes_ = ("a", "b")

    def predict_proba(self, texts: list[str]) -> list[list[float]]:
        return [[0.5, 0.5] for _ in texts]


LISTS: dict[str, Callable[[Any], Any]] = {
    "labels": lambda given: alloykit.from_sklearn(Classifier(), labels=given),
    "labels of teach": lambda given: alloykit.teach("bundled:minilm", TEXTS, output="run", labels=given),
    "languages": lambda given: alloykit.push("run", "owner/name", languages=given),
    "teacher_names": lambda given: alloykit.LabelSpace.union([["a", "b"], ["b", "c"]], teacher_names=given),
    "add_teachers": lambda given: alloykit.update("run", add_teachers=given),
    "labelled": lambda given: alloykit.update("run", labelled=given),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_not_read_letter_by_letter(name: str) -> None:
    with pytest.raises(alloykit.AlloyError, match=f"a list as `{name.split()[0]}`; got 'ab'"):
        LISTS[name]("ab")


@pytest.mark.parametrize("given", ["billing=new", ["billing=new"]])
def test_replaced_teachers_are_a_dictionary(given: Any) -> None:
    with pytest.raises(alloykit.AlloyError, match="a dictionary as `replace_teachers`"):
        alloykit.update("run", replace_teachers=given)


def test_an_unknown_argument_is_a_type_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'trainig'"):
        alloykit.amalgamate(["a"], TEXTS, "b", output=tmp_path / "run", trainig={})  # type: ignore[call-arg]


def test_blocks_may_be_the_models_of_the_recipe(models: dict[str, Path], tmp_path: Path) -> None:
    given = arguments(
        models, tmp_path / "run", training=TrainingOptions(**TRAINING), labels={"aliases": {"refund": "money"}}
    )
    given["teachers"] = [
        HuggingFaceSpec(model=str(models["billing"]), name="money"),
        {"model": str(models["delivery"])},
    ]
    found = alloykit.plan(**given, probe=False)
    assert found["labels"] == ["money", *LABELS[1:]]
    assert found["teachers"][0]["name"] == "money"
    assert found["student_training"]["epochs"] == 2
    assert found["texts"]["used"] == 60, "texts in memory are planned too"
    assert not (tmp_path / "run").exists()


def test_a_sweep_from_python_is_taken_by_the_run(
    models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments(models, tmp_path / "run", method="ensemble", student=None)
    for part in ((1, 2), (2, 2)):
        assert Path(alloykit.sweep(**given, cache=tmp_path / "cache", part=part)) == tmp_path / "cache"
    capsys.readouterr()
    run = alloykit.amalgamate(**given, cache=tmp_path / "cache")
    assert "reads in" not in capsys.readouterr().err
    assert not (run.folder / "cache").exists()
    for part in ((0, 2), (3, 2), "1/2", (1, 2.0)):
        with pytest.raises(alloykit.AlloyError, match=r"`part` as \(i, n\)"):
            alloykit.sweep(**given, part=part)  # type: ignore[arg-type]


def test_a_teacher_from_texts_in_memory(models: dict[str, Path], tmp_path: Path) -> None:
    data = [{"text": t, "label": LABELS[i % 3]} for i, t in enumerate(tiny.texts(60, seed=3))]
    given: dict[str, Any] = {
        "labels": LABELS[:2],
        "training": {"epochs": 1, "max_length": 32, "batch_size": 8},
        "output": tmp_path / "new",
    }
    folder = alloykit.teach({"model": str(models["encoder"]), "layers": 1}, data, **given)
    assert folder == tmp_path / "new"
    assert {a["label"] for a in alloykit.predict(folder, ["card", "money"])} <= set(LABELS[:2])
    with pytest.raises(alloykit.AlloyError, match=r"differ|texts"):
        alloykit.teach({"model": str(models["encoder"]), "layers": 1}, data[:-1], **given)


def test_texts_are_generated_from_python(tmp_path: Path) -> None:
    with pytest.raises(alloykit.AlloyError, match=r"generation.language_model: is missing"):
        alloykit.generate(["a"], {"per_class": 3}, output=tmp_path / "out")


def test_typed_dictionaries_have_the_keys_and_types_of_the_recipe() -> None:
    pairs = {
        typed.TeacherDict: HuggingFaceSpec, typed.AnswersDict: AnswersSpec, typed.PythonDict: PythonSpec,
        typed.SklearnDict: SklearnSpec, typed.ServiceDict: ServiceSpec, typed.OnnxDict: OnnxSpec, typed.ZeroShotDict: ZeroShotSpec, typed.StudentDict: StudentSpec, typed.TextsDict: alloykit.data.TextsOptions,
        typed.LabelsDict: recipe_blocks.LabelOptions, typed.TrainingDict: TrainingOptions,
        typed.InferenceDict: recipe_blocks.InferenceOptions, typed.GenerationDict: GenerationOptions,
        typed.LanguageModelDict: LanguageModel, typed.ReportDict: recipe_blocks.ReportOptions,
        typed.EngineDict: EngineOptions,
    }  # fmt: skip
    for typed_dict, model in pairs.items():
        hints = get_type_hints(typed_dict)
        assert list(hints) == list(model.model_fields), typed_dict
        for key, field in model.model_fields.items():
            if get_origin(hints[key]) is Literal:
                assert hints[key] == field.annotation, (typed_dict, key)


def test_every_public_function_is_listed_and_typed() -> None:
    names = ("amalgamate", "distill", "teach", "generate", "sweep", "plan", "predict", "evaluate", "report", "Run")
    assert set(names) <= set(dir(alloykit)) & set(alloykit.__all__)
    for name in names[:-1]:
        function = getattr(alloykit, name)
        parameters = inspect.signature(function).parameters.values()
        assert all(p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD for p in parameters), name
        assert "AlloyError" in (function.__doc__ or ""), name
    code = "import alloykit, sys; dir(alloykit); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "False\n", "listing imports nothing"
    told = pydoc.plain(pydoc.render_doc(alloykit))
    assert all(f"    {name}(" in told for name in names[:-1])
    assert "class Run(" in told
