"""Score teachers, ensemble, routing and student on labelled texts."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.evaluation.answers import STUDENT, of_teachers
from alloykit.evaluation.labelled import assess
from alloykit.json_files import write_json
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.protocol import Context
from alloykit.names import counted, quoted
from alloykit.outputs import Source, chunks
from alloykit.progress import log_line, warn_line
from alloykit.run_folder.file_names import METRICS
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.stages.alike_warnings import alike_as_one
from alloykit.stages.knowledge import with_text_states
from alloykit.stages.method_reports import attempt
from alloykit.stages.multi_label_views import evaluate_multi_label
from alloykit.stages.prepare import stored
from alloykit.stages.prepared import Prepared


def evaluate_run(
    prepared: Prepared, run: RunFolder, context: Context, store: Store, data: Texts, *, of_recipe: bool = True
) -> dict[str, Any]:
    """Score every classifier on the test texts, and add the result to the run's metrics.json. Returns the result (run_folder/metrics.py).

    of_recipe: whether these are the test texts that the recipe names.
    """
    if prepared.method.needs.multi_label:
        return evaluate_multi_label(prepared, run, store, data, of_recipe=of_recipe)
    space, names, method = prepared.space, prepared.names, prepared.method
    labels = prepared.labels(data)
    log_line(f"evaluation on {counted(len(data), 'labelled text')}")
    options = prepared.sweep_options()
    sweep(prepared.infos, data, store, options)
    source: Source = stored(prepared, store, data.ids(), answers_only=not method.single_target)
    if method.single_target:
        source = with_text_states(prepared, source, data, run.folder, "evaluate")
    warnings = _unanswered(source, names, len(data))
    answers = attempt(
        method, "answers to the test texts", lambda: of_teachers(source, labels, method, context, names), warnings
    ) or of_teachers(source, labels, None, context, names)
    if run.has_student:
        answers.probabilities[STUDENT] = probabilities_of(prepared.predictor(run.student), data)
    answers.save(run.answers, list(data.table["id"]))
    metrics = run.metrics
    assert metrics is not None
    temperature = metrics["student"]["temperature"] if "student" in metrics else None
    result = assess(answers, space, names, reference=_reference(prepared, data), temperature=temperature)
    result |= {"of_recipe": of_recipe, "unused": {"duplicates": data.duplicates, **data.dropped}}
    warnings = alike_as_one(warnings)
    for warning in warnings:
        warn_line(warning)
    earlier = metrics["warnings"]
    new = {"evaluation": result, "warnings": earlier + [w for w in warnings if w not in earlier]}
    write_json(run.folder / METRICS, metrics | new)
    return result


def _unanswered(source: Source, names: list[str], texts: int) -> list[str]:
    """A sentence for each teacher that has no answer to some of the test texts."""
    missing = dict.fromkeys(names, 0)
    for rows in chunks(source):
        for name, teacher in zip(names, rows.teachers, strict=True):
            missing[name] += 0 if teacher.answered is None else int((~teacher.answered).sum())
    return [
        f"teacher '{name}' has no answer to {n:,} of the {texts:,} test texts: its own accuracy is that on the other texts"
        for name, n in missing.items()
        if n
    ]


def _reference(prepared: Prepared, data: Texts) -> Tensor | None:
    """The probabilities of the recipe's `evaluate: {reference: …}`, its labels joined to the union by name. [n, C], or None without one."""
    block, space = prepared.recipe.evaluate, prepared.space
    if block is None or block.reference is None:
        return None
    classifier = Predictor.load(block.reference, prepared.recipe.training.max_length, prepared.device)
    if set(classifier.labels) != set(space.names):
        raise AlloyError(
            expected=f"a reference that knows {quoted(space.names)}, and nothing else",
            got=f"'{block.reference}' with {quoted(classifier.labels)}",
            hint="A reference is a classifier trained on all labels. Leave it out to use the teachers that know the true label instead.",
        )
    order = [classifier.labels.index(name) for name in space.names]
    return probabilities_of(classifier, data)[:, order]


def probabilities_of(classifier: Predictor, data: Texts) -> Tensor:
    """A classifier's probabilities at temperature 1. The report shows calibration without and with the temperature."""
    return classifier.probabilities(data.table["text"], data.pairs, calibrated=False)
