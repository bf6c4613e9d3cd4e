"""`questions:` in a recipe: one student that answers several questions in one pass."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny
import torch
import yaml
from commandline import Call, Result, run_here, write_csv, write_recipe
from questions_recipes import MOODS, TESTED, TEXTS, TOPICS, questions_recipe
from shared import once, whole_run
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import alloykit
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, Phase, StudentOutput
from alloykit.methods.registry import create
from alloykit.methods.several_questions import QuestionMethod, SeveralQuestions
from alloykit.models.questions import questions_of
from alloykit.outputs import Rows, TeacherRows
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.classify import Answer, Asked, classify
from alloykit.serving.onnx_predictor import OnnxPredictor
from alloykit.serving.predictor import Predictor
from alloykit.stages import questions_run
from alloykit.web.views import explanation_view

pytestmark = pytest.mark.slow

SPACES = (LabelSpace.union([["a", "b"], ["b", "c"]]), LabelSpace.union([["x", "y"]]))


@pytest.fixture(scope="session")
def asked(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of the recipe. Read it, or copy it."""

    def make(folder: Path) -> None:
        done = run_here("amalgamate", write_recipe(folder, questions_recipe(models, folder)))
        assert done.code == 0, done.err
        (folder / "said.json").write_text(json.dumps(vars(done)))

    return once(whole_run(tmp_path_factory), "questions", make)


def random_rows(n: int) -> Rows:
    generator = torch.Generator().manual_seed(0)

    def rows(space: LabelSpace) -> Rows:
        logits = [torch.randn(n, len(labels), generator=generator) for labels in space.teachers]
        labels = torch.randint(space.size, (n,), generator=generator)
        return Rows(tuple(TeacherRows(z) for z in logits), labels=labels)

    return Rows((), questions=tuple(map(rows, SPACES)))


def the_method() -> SeveralQuestions:
    methods = (create({"name": "uhc"}), create({"name": "ensemble"}))
    return SeveralQuestions(
        [
            QuestionMethod(name, method, Context(space))
            for name, method, space in zip("pq", methods, SPACES, strict=True)
        ]
    )


def softmax(values: list[float]) -> list[float]:
    whole = sum(math.exp(v) for v in values)
    return [math.exp(v) / whole for v in values]


def divergence(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_the_loss_is_the_sum_over_the_questions_by_a_plain_loop() -> None:
    n, method, rows = 5, the_method(), random_rows(5)
    logits = torch.randn(n, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)
    given = Rows.from_batch(rows.to_batch())  # as the trainer sends them
    inputs = LossInputs(StudentOutput(logits), given, None, torch.nn.ModuleDict(), Context(SPACES[0]), Phase())
    terms = method.loss(inputs)
    assert set(terms) == {"p.kl", "q.kl"}
    for i, z in enumerate(logits.tolist()):
        p, q = z[:3], z[3:]
        first, second = (t.logits[i].tolist() for t in rows.questions[0].teachers)
        uhc = divergence(softmax(first), softmax(p[:2])) + divergence(softmax(second), softmax(p[1:]))
        assert float(terms["p.kl"][i].detach()) == pytest.approx(uhc, abs=1e-5)
        [only] = rows.questions[1].teachers
        assert float(terms["q.kl"][i].detach()) == pytest.approx(
            divergence(softmax(only.logits[i].tolist()), softmax(q)), abs=1e-5
        )
    terms["q.kl"].sum().backward()
    assert logits.grad is not None
    assert not logits.grad[:, :3].any(), "a question moves its own part of the head only"


def test_checks_with_labels_measure_the_mean_accuracy_of_the_questions() -> None:
    rows = random_rows(6)
    logits = torch.randn(6, 5, generator=torch.Generator().manual_seed(2))
    first, second = (part.labels.tolist() for part in rows.questions if part.labels is not None)
    wanted = [
        (int(z[:3].index(max(z[:3])) == a) + int(z[3:].index(max(z[3:])) == b)) / 2
        for z, a, b in zip(logits.tolist(), first, second, strict=True)
    ]
    assert the_method().correct(logits, rows).tolist() == wanted


def test_transformers_loads_the_student_and_one_pass_answers_all(asked: Path) -> None:
    run = alloykit.Run(asked / "run")
    model = AutoModelForSequenceClassification.from_pretrained(run.student)
    tokenizer = AutoTokenizer.from_pretrained(run.student)
    assert list(model.config.id2label.values()) == [f"mood: {m}" for m in MOODS] + [f"topic: {t}" for t in TOPICS]
    texts = ["refund my card please", "the parcel is late"]
    logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits
    found = run.predict(texts, all_probabilities=True)
    first = 0
    for question in model.config.alloykit_questions:  # as the card says
        part = logits[:, first : first + len(question["labels"])]
        first += len(question["labels"])
        assert (question["temperature"] != 1) == (question["question"] == "topic"), (
            "uhc has no single target to fit one to"
        )
        for answer, p in zip(found, torch.softmax(part / question["temperature"], -1), strict=True):
            said = answer["answers"][question["question"]]
            assert said["probabilities"] == pytest.approx(
                dict(zip(question["labels"], p.tolist(), strict=True)), abs=1e-5
            )
            assert said["label"] == question["labels"][int(p.argmax())]
            assert said["probability"] == pytest.approx(float(p.max()), abs=1e-5)
    for name, part in run.questions.items():  # the student of one question is the same encoder with a part of the head
        alone = part.predict(texts, all_probabilities=True)
        for one, both in zip(alone, found, strict=True):
            assert one["probabilities"] == pytest.approx(both["answers"][name]["probabilities"], abs=1e-5)


def test_every_question_has_a_run_folder_with_its_measurements(asked: Path) -> None:
    run = alloykit.Run(asked / "run")
    mood, topic = run.questions.values()
    assert (topic.metrics or {})["evaluation"]["texts"] == TESTED
    assert (mood.metrics or {})["evaluation"]["texts"] == TESTED - len(range(0, TESTED, 3)), "a text may lack a label"
    assert (mood.metrics or {})["labels"] == list(MOODS)
    for part in (topic, mood):
        assert part.recipe.training == yaml_training(asked)
        assert "Questions" not in part.report_page.read_text()
    said = Result(**json.loads((asked / "said.json").read_text()))
    assert "question topic" in said.out
    assert f"student: {run.student}" in said.out
    page = run.report_page.read_text()
    for name in run.questions:
        assert f'href="questions/{name}/report.html"' in page
    card = (run.student / "README.md").read_text()
    assert "## Question: mood" in card
    assert "answers 2 questions" in card


def yaml_training(folder: Path) -> Any:
    from alloykit.run_folder.read import any_recipe_of

    return any_recipe_of(folder / "run").training


def test_predict_writes_the_answers_by_question(asked: Path, tmp_path: Path, call: Call) -> None:
    texts = write_csv(tmp_path / "new.csv", [["refund my card"], [""], ["a parcel"]])
    lines = call("predict", asked / "run", texts).lines
    assert [line["row"] for line in lines] == [0, 1, 2]
    assert set(lines[0]["answers"]) == {"topic", "mood"}
    assert lines[1]["answers"] is None
    assert lines[1]["error"]
    done = call("predict", asked / "run", texts, "--to", tmp_path / "answers", "--all-probabilities")
    assert done.code == 0, done.err
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "answers" / "new.csv.parquet").to_pylist()
    assert table[1]["mood.label"] is None
    for line, row in zip(lines, table, strict=True):
        for name, answer in (line["answers"] or {}).items():
            assert row[f"{name}.label"] == answer["label"]
            assert row[f"{name}.probability"] == pytest.approx(answer["probability"], abs=1e-5)
            assert row[f"p({name}: {answer['label']})"] == row[f"{name}.probability"]


def test_evaluate_reads_one_column_a_question(asked: Path, tmp_path: Path, call: Call) -> None:
    shutil.copytree(asked / "run", tmp_path / "run")
    more = write_csv(
        tmp_path / "more.csv", [("my card", "refund", "good"), ("a box", "track", "")], ("text", "topic", "feeling")
    )
    found = json.loads(call("evaluate", tmp_path / "run", "--data", more, "--json").out)["questions"]
    assert {name: part["texts"] for name, part in found.items()} == {"topic": 2, "mood": 1}
    again = alloykit.Run(tmp_path / "run").questions["topic"].metrics
    assert again is not None
    assert again["evaluation"]["scores"] == found["topic"]["scores"]
    assert call("report", tmp_path / "run").code == 0


def test_a_run_that_stops_anywhere_goes_on_with_the_same_bits(
    asked: Path, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alloykit.recipe.questions import QuestionsRecipe
    from alloykit.recipe.read_recipe import parse
    from alloykit.stages import questions_run
    from alloykit.training.trainer import PhaseTrainer

    recipe = parse(questions_recipe(models, tmp_path), QuestionsRecipe)

    def stopped_by(place: Any, name: str, when: int) -> None:
        calls, original = [], getattr(place, name)

        def stop(*arguments: Any, **options: Any) -> Any:
            calls.append(1)
            if len(calls) == when:
                raise KeyboardInterrupt
            return original(*arguments, **options)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(place, name, stop)
            questions_run.run_questions(recipe)

    stopped_by(questions_run, "gather", 2)  # the first question has its outputs
    stopped_by(PhaseTrainer, "after_step", 7)  # after a checkpoint
    fitted = (tmp_path / "run/questions/mood/state.safetensors").stat().st_mtime_ns
    stopped_by(questions_run, "save_classifier", 2)  # one student of a single question is saved
    assert not (tmp_path / "run/student").exists()
    stopped_by(questions_run, "evaluate_run", 2)
    questions_run.run_questions(recipe)
    assert (tmp_path / "run/questions/mood/state.safetensors").stat().st_mtime_ns == fitted, "nothing is fitted again"
    for file in ("student/model.safetensors", "questions/topic/student/model.safetensors", "student/config.json"):
        assert (tmp_path / "run" / file).read_bytes() == (asked / "run" / file).read_bytes()
    shutil.rmtree(tmp_path / "run/questions/mood/student")
    questions_run.run_questions(recipe)
    for file in ("model.safetensors", "config.json"):
        place = f"run/questions/mood/student/{file}"
        assert (tmp_path / place).read_bytes() == (asked / place).read_bytes()


def test_a_student_that_is_restored_is_loaded_as_the_recipe_trusts_it(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []

    def load(spec: Any) -> Any:
        loaded.append(spec.trust_remote_code)
        raise InterruptedError

    monkeypatch.setattr(questions_run, "load_classifier", load)
    gone = {"mood": SimpleNamespace(run=SimpleNamespace(has_student=False))}
    for trusted in (True, False):
        with pytest.raises(InterruptedError):
            questions_run._restore_students(RunFolder(asked / "run"), gone, trust_remote_code=trusted)  # type: ignore[arg-type]
    assert loaded == [True, False]


def test_another_recipe_is_refused_and_overwrite_replaces_the_student(asked: Path, tmp_path: Path, call: Call) -> None:
    shutil.copytree(asked / "run", tmp_path / "run")
    recipe = write_recipe(
        tmp_path, yaml.safe_load((asked / "recipe.yaml").read_text()) | {"output": str(tmp_path / "run")}
    )
    change = ("-o", "questions.mood.method=pseudo_label", "-o", "training.epochs=1")
    call("amalgamate", recipe, *change).refused("questions", "mood")
    assert call("amalgamate", recipe, *change, "--overwrite").code == 0
    assert alloykit.Run(tmp_path / "run").questions["mood"].recipe.method["name"] == "pseudo_label"
    model = "student/model.safetensors"
    assert (tmp_path / "run" / model).read_bytes() != (asked / "run" / model).read_bytes()


def test_from_python_with_teachers_in_memory_and_labelled_selection(models: dict[str, Path], tmp_path: Path) -> None:
    values = questions_recipe(models, tmp_path)
    rows = [(text, "refund", "good") for text in ("my card", "the box is late", "my app")]
    teacher = alloykit.Teacher(lambda texts: [[0.9, 0.1] for _ in texts], labels=list(MOODS), name="rule", version="1")
    run = alloykit.amalgamate_questions(
        {"topic": values["questions"]["topic"], "mood": {"teachers": [teacher], "method": "uhc"}},
        ["refund my card", "where is my parcel", "my app", "it is late", "a new phone", "the old box"],
        values["student"],
        output=tmp_path / "run",
        validation=write_csv(tmp_path / "valid.csv", rows, ("text", "topic", "mood")),
        training={"epochs": 2, "learning_rate": 1e-3, "batch_size": 4, "select": "labelled"},
    )
    assert set(run.predict("my card")["answers"]) == {"topic", "mood"}
    checked = [
        entry["eval_criterion"] for entry in (run.training or {"history": []})["history"] if "eval_criterion" in entry
    ]
    assert checked
    assert all(round(6 * share, 6) == int(6 * share + 0.5) for share in checked), "shares of 3 texts × 2 questions"


def test_plan_counts_the_training_once(asked: Path, call: Call) -> None:
    found = json.loads(call("plan", asked / "recipe.yaml", "--no-probe", "--json").out)
    assert [len(plan["teachers"]) for plan in found["questions"].values()] == [1, 2]
    assert found["student_steps"] == found["questions"]["mood"]["student_steps"] > 0
    assert all(t["reads"] == TEXTS for plan in found["questions"].values() for t in plan["teachers"])
    recipe = yaml.safe_load((asked / "recipe.yaml").read_text())
    data = recipe.pop("evaluate")["data"]
    assert alloykit.plan_questions(**recipe, evaluate=data, probe=False) == found
    shown = call("plan", asked / "recipe.yaml", "--no-probe").out
    assert shown.count(" steps") == 1
    assert "question mood:" in shown
    assert "labels of the student: 7" in shown


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("questions.topic.method=dfa", ("question 'topic'", "'dfa'", "layers")),
        ("questions.topic.method=rl_kd", ("'rl_kd'",)),
        ("questions.topic.method=ensemblee", ("questions.topic.method", "ensemble")),
        ("questions.topic.teachers=[]", ("questions.topic.teachers",)),
        ("questions={}", ("questions",)),
        ("questions={a/b: {teachers: [x]}}", ("names of letters",)),
        ("evaluate.data.label=topic", ("evaluate.data", "column")),
        ("questions.mood.column=text", ("different columns",)),
        ("questions.mood.colum=x", ("did you mean 'column'",)),
        ("teachers=[x]", ("unknown key",)),
    ],
)
def test_a_recipe_that_cannot_be_is_refused_by_plan(
    asked: Path, call: Call, change: str, words: tuple[str, ...]
) -> None:
    call("plan", asked / "recipe.yaml", "--no-probe", "-o", change).refused(*words)


def test_validation_texts_need_a_label_for_every_question(asked: Path, call: Call) -> None:
    data = f"validation.data={asked / 'test.csv'}"
    call("plan", asked / "recipe.yaml", "--no-probe", "-o", data, "-o", "training.select=labelled").refused(
        "a label for every question", "validation"
    )


def test_the_onnx_export_answers_all_questions(asked: Path, call: Call, tmp_path: Path) -> None:
    """One graph: `logits` with the parts of all questions, and an output for each; compared question by question."""
    place = alloykit.export(asked / "run", int8=True, fp16=True, min_agreement=0.9, output=tmp_path / "onnx")
    record = json.loads((place / "export.json").read_text())
    assert record["labelled_texts"] == {"mood": 13, "topic": TESTED}
    assert set(record["accuracy"]) == {"mood", "topic"}
    for one in record["graphs"].values():
        assert one["same_label"] == min(one["questions"].values())
        assert set(one["accuracy"]) == {"mood", "topic"}
    assert record["graphs"]["float32"]["questions"] == {"mood": 1.0, "topic": 1.0}
    student, onnx = Predictor.load(asked / "run" / "student"), OnnxPredictor.load(place, number_format="float32")
    texts = ["refund my card please", "the parcel is late"]
    assert onnx.questions == student.questions
    assert torch.allclose(onnx.probabilities(texts), student.probabilities(texts), atol=1e-5)
    assert torch.allclose(onnx.logits(texts), student.logits(texts), atol=1e-4)
    ids = onnx.tokenizer(texts, padding=True, return_tensors="np")
    given = {key: ids[key] for key in onnx.inputs}
    logits, mood, topic = onnx.session.run(["logits", "logits.mood", "logits.topic"], given)
    assert np.array_equal(np.concatenate([mood, topic], -1), logits)
    told = torch.cat([torch.softmax(torch.from_numpy(part), -1) for part in (mood, topic)], -1)
    assert torch.allclose(told, student.probabilities(texts), atol=1e-5), "as the card says"
    card = (place / "README.md").read_text()
    assert "| topic | `logits.topic` | 2 to 6 |" in card
    assert "answers no question" in card
    file = write_csv(tmp_path / "new.csv", [[text] for text in texts])
    lines = call("predict", place, file, "--onnx").lines
    assert set(lines[0]["answers"]) == {"mood", "topic"}
    assert "alloykit_questions" in json.loads((place / "config.json").read_text())


def test_a_student_of_several_questions_is_no_teacher(asked: Path, models: dict[str, Path], call: Call) -> None:
    teachers = f"questions.topic.teachers=[{asked / 'run' / 'student'}]"
    call("plan", asked / "recipe.yaml", "--no-probe", "-o", teachers).refused("one question", "questions/NAME/student")


def test_watch_and_update_go_question_by_question(
    asked: Path, models: dict[str, Path], call: Call, tmp_path: Path
) -> None:
    shutil.copytree(asked / "run", tmp_path / "run")
    run, texts = tmp_path / "run", asked / "texts.csv"
    found = json.loads(call("watch", run, texts, "--json").out)
    assert set(found["questions"]) == {"mood", "topic"}
    assert found["psi"] == max(part["psi"] for part in found["questions"].values())
    alone = json.loads(json.dumps(alloykit.watch(run / "questions" / "topic", texts)))
    topic = found["questions"]["topic"]
    assert alone["labels"]["shares"] == topic["labels"]["shares"]
    assert (alone["indices"], topic["indices"]) == (3, 6)
    assert alone["energy"]["chance"] < topic["energy"]["chance"], "it is for the indices of both questions"
    assert (run / "questions" / "mood" / "watch.html").exists()
    call("watch", run, texts, "--output", tmp_path / "x.html").refused("page of its own")
    call("update", run, "--remove-teacher", "billing").refused("QUESTION/NAME", "mood")
    call("update", run, "--labelled", texts).refused("questions/mood", "answers this question alone")
    new = tiny.classifier(tmp_path / "returns", ("refund", "lost"), "bert", seed=7)
    done = call("update", run, "--add-teacher", f"topic={new}", "-o", "training.epochs=1")
    assert done.code == 0, done.err
    assert "teacher mood:" not in done.err, "its outputs are linked"
    updated = alloykit.Run(tmp_path / "run-2")
    assert [
        len(answer["probabilities"]) for answer in updated.predict("a card", all_probabilities=True)["answers"].values()
    ] == [2, 6]
    changed = {name: json.loads((part.folder / "changes.json").read_text()) for name, part in updated.questions.items()}
    assert changed["topic"]["labels_before"] == list(TOPICS)
    assert changed["topic"]["texts"] == TESTED
    assert changed["mood"]["overall"]["old"] == pytest.approx(
        (alloykit.Run(run).questions["mood"].metrics or {})["evaluation"]["scores"]["student"]["accuracy"]
    )
    assert "question mood:" in done.out


def test_the_server_shows_the_answers_by_question(asked: Path) -> None:
    student = Predictor.load(asked / "run" / "student")
    [answer] = classify(student, [Asked("my card")])
    assert isinstance(answer, Answer)
    shown = explanation_view(student.parts, answer, None, "", "")["student"]
    said = alloykit.Run(asked / "run").predict("my card", all_probabilities=True)["answers"]
    for one in shown:
        own = said[one["question"]]
        assert one["given"] == [own["label"]]
        assert {s["label"]: s["score"] for s in one["scores"]} == pytest.approx(own["probabilities"], abs=1e-5)


def test_what_needs_one_question_names_the_folder_of_one(asked: Path, call: Call, tmp_path: Path) -> None:
    run, texts = asked / "run", asked / "texts.csv"
    call("predict", run, texts, "--none-of-these").refused("questions/mood")
    call("suggest", run, "--output", tmp_path / "s.csv").refused("questions/mood")
    with pytest.raises(AlloyError, match="questions/mood"):
        alloykit.Run(run).recipe  # noqa: B018
    assert call("predict", run / "questions/topic", texts, "--none-of-these").code == 0


@pytest.mark.parametrize(
    "damage",
    [[], [{"question": "topic"}], [{"question": "topic", "labels": ["a"]}], "topic", [{"question": 1, "labels": []}]],
)
def test_a_damaged_configuration_is_refused(asked: Path, damage: Any) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(asked / "run" / "student")
    assert [part.name for part in questions_of(model.config)] == ["mood", "topic"]
    model.config.alloykit_questions = damage
    with pytest.raises(AlloyError, match="alloykit_questions"):
        questions_of(model.config)
