"""One cell: a method on a pool of a data set, with one seed. Returns what the table needs, as plain numbers."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from alloykit.evaluation.answers import ENSEMBLE, ROUTING, STUDENT, Answers, of_teachers
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.methods.report_sections import MethodReport, Table
from alloykit.methods.rl_kd.method import SELECTION
from alloykit.outputs import chunks
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.recipe_texts import TEXTS_FILE, generated_folder
from benchmarks.harness.results import commit, letters
from benchmarks.harness.stages import Stages

TEACHERS = "teachers"  # not a method: its cell has what needs no student


Analysis = Callable[[Stages, str], dict[str, Any]]


def run_cell(
    stages: Stages, pool: str, spec: dict[str, Any], analyses: Mapping[str, Analysis] | None = None
) -> dict[str, Any]:
    """Run one cell. Finished shared stages are reused and kept. The run folder is removed.

    `spec` is a recipe's `method:` block. It may also have `training`, `student` (a role), in place of `per_class` `texts`, and `statistics`: a pool whose
    labelled texts take the place of the generated ones in the method's statistics. Or it names an analysis.
    """
    begun, spec = time.perf_counter(), stages.per_class(spec)
    analysis = ({TEACHERS: _teachers} | dict(analyses or {})).get(spec["name"])
    method = {k: v for k, v in spec.items() if k not in ("training", "student", "few", "statistics")}
    knowledge = stages.ready(pool, dropout=analysis is not None or create(method).needs.passes > 0)
    swept = time.perf_counter()
    found = analysis(stages, pool) if analysis else _method(stages, pool, spec, knowledge)
    seconds = {"shared_stages": round(swept - begun, 1), "cell": round(time.perf_counter() - swept, 1)}
    return {"status": "done", "commit": commit(), **found, "seconds": seconds}


def _method(stages: Stages, pool: str, spec: dict[str, Any], knowledge: Any) -> dict[str, Any]:
    name = "-".join([pool, *_flat(spec)]).replace("/", "-")
    spec = dict(spec)
    training, student = spec.pop("training", {}), spec.pop("student", None)
    few, statistics = spec.pop("few", None), spec.pop("statistics", None)
    folder = _of_this_commit(stages.folder / "runs", name)
    recipe = stages.recipe(pool, spec, folder, student, few, **training)
    if statistics is not None:
        shutil.copyfile(stages.pool(statistics), generated_folder(recipe) / TEXTS_FILE)
    run = run_recipe(recipe, cache=knowledge, report=False)
    if run.has_student:
        found = of_student(run)
    else:
        found = _scores(run, ROUTING)
        if not create(spec).needs.labels:  # a method that reads labels needs no estimate on the pool
            found["pool"] = on_pool(stages, pool, spec)
    shutil.rmtree(run.folder)
    return found


def _of_this_commit(runs: Path, name: str) -> Path:
    """The folder of a cell's run. What an interrupted cell of another commit left is removed: its fit would count as this commit's."""
    folder = runs / f"{name}--{commit()}"
    for left in runs.glob("*"):
        if left.name.rpartition("--")[0] == name and left != folder:
            shutil.rmtree(left)
    return folder


def of_student(run: RunFolder) -> dict[str, Any]:
    """What a cell has of a finished run: the student's scores and answers on the test texts, the routing's, and steps."""
    found, routing = _scores(run, STUDENT), run.metrics["evaluation"]["scores"].get(ROUTING, {})
    if "correct_teacher" in routing:
        found["routing"] = {key: routing[key] for key in ("correct_teacher", "correct_teacher_balanced")}
    found["confidence"] = float(Answers.load(run.answers).probabilities[STUDENT].max(-1).values.double().mean())
    training = run.training
    found["training"] = {k: training[k] for k in ("steps", "selected_step")}
    if selection := _selection(training["report"]):
        found["selection"] = selection
    return found


def _selection(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By label: the number of texts, and the shares for which a policy selected each teacher and none; empty for methods without a policy."""
    sections = MethodReport.model_validate(report).sections
    tables = [part for s in sections for part in s.parts if isinstance(part, Table) and part.caption == SELECTION]
    return {
        str(label): {"texts": texts, "teachers": shares, "none": none}
        for table in tables
        for label, texts, *shares, none in table.rows
    }


def _teachers(stages: Stages, pool: str) -> dict[str, Any]:
    """Every teacher alone and their ensemble on the test texts; the teachers' confidence on their own, others' and foreign texts."""
    texts = stages.texts_of(stages.test(pool), want_labels=True)
    prepared, source = stages.outputs(pool, texts)
    space = prepared.space
    answers = of_teachers(source, prepared.labels(texts), prepared.method, Context(space), prepared.names)
    scores = answers.scores(space, prepared.names)
    foreign = _foreign(stages, pool)
    about = {}
    for i, name in enumerate(prepared.names):
        confidences = torch.cat([rows.teachers[i].probabilities().max(-1).values for rows in chunks(source)]).double()
        own = space.has_label()[i, answers.labels]
        about[name] = {
            "labels": list(space.teachers[i]),
            "accuracy": scores[f"teacher {name}"]["accuracy"],
            "accuracy_on_own": scores[f"teacher {name}"]["groups"][name],
            "max_probability_on_own": float(confidences[own].mean()),
            "max_probability_on_others": float(confidences[~own].mean()),
            "max_probability_on_foreign": None if foreign is None else float(foreign[i].mean()),
        }
    return {
        "teachers": about,
        "ensemble": _with_answers(answers, ENSEMBLE, scores[ENSEMBLE]),
        "labels": letters(answers.labels.tolist()),
    }


def _foreign(stages: Stages, pool: str) -> list[torch.Tensor] | None:
    """Every teacher's maximum probability on the pool's texts without a label; None if it has none."""
    texts = stages.texts_of(stages.pool(pool), want_labels=False)
    known = set(stages.texts_of(stages.pool(pool), want_labels=True).table["id"])
    prepared, source = stages.outputs(pool, texts)
    unknown = torch.tensor([i not in known for i in texts.table["id"]])
    if not bool(unknown.any()):
        return None
    n = len(prepared.names)
    parts = [[rows.teachers[i].probabilities().max(-1).values for rows in chunks(source)] for i in range(n)]
    return [torch.cat(p).double()[unknown] for p in parts]


def on_pool(stages: Stages, pool: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Accuracy of the method's target on the pool's own texts, and the share of the weight on foreign ones."""
    texts = stages.texts_of(stages.pool(pool), want_labels=False)
    labelled = stages.texts_of(stages.pool(pool), want_labels=True)
    prepared, everything = stages.outputs(pool, texts, spec)
    begun = time.perf_counter()
    context = Context(prepared.space, create(spec).fit(everything, Context(prepared.space)))
    seconds, report = time.perf_counter() - begun, prepared.method.fit_report(context, prepared.names)
    _, source = stages.outputs(pool, labelled, spec)
    answers = of_teachers(source, prepared.labels(labelled), prepared.method, context, prepared.names)
    score = answers.scores(prepared.space, prepared.names)[ROUTING]
    weights = torch.cat([_weights(prepared.method, rows, context) for rows in chunks(everything)]).double()
    known = set(labelled.table["id"])
    foreign = torch.tensor([i not in known for i in texts.table["id"]])
    return {
        "texts": len(texts),
        "fit_seconds": round(seconds, 2),
        "warnings": list(report.warnings),
        "accuracy": score["accuracy"],
        "correct_teacher": score["correct_teacher"],
        "correct_teacher_balanced": score["correct_teacher_balanced"],
        "surprise": float(
            -answers.probabilities[ROUTING].gather(1, answers.labels[:, None]).double().clamp(min=1e-6).log().mean()
        ),
        "mean_weight": float(weights.mean()),
        "effective_sample_size": float(weights.sum() ** 2 / (weights**2).sum()),
        "weight_on_foreign": float(weights[foreign].sum() / weights.sum()) if bool(foreign.any()) else None,
    }


def _weights(method: Any, rows: Any, context: Context) -> torch.Tensor:
    return method.supervise(rows, context).weights


def _scores(run: RunFolder, way: str) -> dict[str, Any]:
    return _with_answers(Answers.load(run.answers), way, run.metrics["evaluation"]["scores"][way])


def _with_answers(answers: Answers, way: str, score: dict[str, Any]) -> dict[str, Any]:
    predicted = answers.probabilities[way].argmax(-1).tolist()
    return {**score, "answers": letters(predicted)}


def _flat(spec: dict[str, Any]) -> list[str]:
    """The parts of a run folder's name: different methods have different names."""
    parts = []
    for key, value in spec.items():
        parts += _flat(value) if isinstance(value, dict) else [value if key == "name" else f"{key}={value}"]
    return parts
