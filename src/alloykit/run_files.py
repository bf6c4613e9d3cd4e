"""The files of a run folder. Each is checked when it is read: the reader gets what is described here, or an AlloyError.

Each type is a dictionary with the keys of the file. Other keys are kept, because methods and later versions add keys; the code must not
rely on them. `null` in JSON is None.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.methods.report_sections import MethodReport
from alloykit.names import short
from alloykit.recipe.models import Recipe, read_recipe

METRICS, TRAINING, ENVIRONMENT, INPUTS = "metrics.json", "training.json", "environment.json", "inputs.json"
RECIPE, STATE, ANSWERS, REPORT = "recipe.yaml", "state.safetensors", "answers.safetensors", "report.html"
SUMMARY, LOG = "generation.json", "run.log"
EXPORT = "export/onnx"  # the folder of the ONNX export
POOL_ANSWERS = "pool-answers.json"  # what the student answers to the pool, as counts
COMPARED = "changes.json"  # an updated run and the earlier one
START = "start"  # a student that was passed from Python's memory, before its training
CACHE = "cache"  # the folder of the teachers' outputs

Share = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6, allow_inf_nan=False)]
Number = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]
OptionalNumber = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)] | None
Count = Annotated[int, Field(ge=0, le=10**15)]
Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Histogram = Annotated[list[Count], Field(min_length=1, max_length=10_000)]
Name = Annotated[str, Field(min_length=1)]
_OPEN = ConfigDict(extra="allow", strict=True)


def _is_report(value: dict[str, Any]) -> dict[str, Any]:
    """ValueError for anything but a `MethodReport` as JSON."""
    try:
        MethodReport.model_validate_json(json.dumps(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if "warnings" not in value or "sections" not in value:
        raise ValueError("expected warnings and sections")
    return value


Reported = Annotated[dict[str, Any], AfterValidator(_is_report)]
"""A `MethodReport` (methods/report_sections.py) as it lies in a file."""


class MethodSpec(TypedDict):
    """The method by name, with its options."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    name: str
    mode: NotRequired[str]


class PoolTexts(TypedDict):
    """Number of texts of the pool that are used. Other keys count the rows that were left out, by reason."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    used: Count
    duplicates: NotRequired[Count]


class Health(TypedDict):
    """One teacher on the pool (evaluation/health.py)."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    max_probability: Share
    excess: Number
    pass_variance: OptionalNumber
    predicted: dict[str, Count]
    unknown_tokens: NotRequired[Share | None]
    truncated_texts: NotRequired[Share]


class SureTeachers(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    none: Count
    one: Count
    several: Count


class Agreement(TypedDict):
    """How often the teachers agree on the pool (evaluation/supervision.py)."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    sure_teachers: SureTeachers
    confidence: Annotated[dict[str, Histogram], Field(min_length=1)]


class Weights(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    up_to: Annotated[float, Field(gt=0, le=1e12)]
    counts: Histogram


class LabelSupervision(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    texts: Count
    effective_sample_size: Number
    teacher_share: dict[str, Share] | None


class SupervisionSummary(TypedDict):
    """The method's supervision of the pool (evaluation/supervision.py)."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    texts: Annotated[int, Field(ge=1, le=10**15)]
    effective_sample_size: Number
    weights: Weights
    labels: dict[str, LabelSupervision]


class LeastCertain(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    row: Count
    labels: dict[str, Share]
    text: NotRequired[str]
    text_pair: NotRequired[str | None]


class UnusualText(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    row: Count
    label: Name
    none_of_these: Share
    text: NotRequired[str]
    text_pair: NotRequired[str | None]


class NoneOfTheseView(TypedDict):
    """With how many texts of the pool new ones are compared, and its most unusual texts (stats/none_of_these.py)."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    threshold: Share
    texts: Count
    unseen: bool
    most_unusual: list[UnusualText]


class StudentView(TypedDict):
    """The student on the pool (evaluation/student_confidence.py)."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    texts: Count
    temperature: Annotated[float, Field(gt=0, le=1e12)] | None
    unseen_texts: NotRequired[Count]
    same_as_supervision: NotRequired[Share | None]
    confidence: Histogram
    least_certain: list[LeastCertain]
    none_of_these: NotRequired[NoneOfTheseView]


class ModelSize(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    parameters: Count
    layers: Count
    width: Count
    texts_per_second: Number


class Generated(TypedDict):
    """The texts that were generated for one teacher (generation/quality.py)."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    texts: Count
    control: Share | None
    confidence: Share | None
    perplexity: OptionalNumber
    distinct_2: Number
    self_bleu: Number
    control_by_label: dict[str, Share | None]


class TimeSpent(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    sweep: NotRequired[dict[str, Seconds]]
    training: NotRequired[Seconds | None]


class Score(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    accuracy: Share
    macro_f1: Share
    groups: dict[str, Share | None]
    interval: NotRequired[Annotated[list[Share], Field(min_length=2, max_length=2)]]
    right_teacher: NotRequired[Share]


class Comparison(TypedDict):
    """The comparison of two classifiers (evaluation/significance.py)."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    difference: Number
    low: Number
    high: Number
    p_holm: Share
    mcnemar_p_holm: Share


class ReliabilityBin(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    low: Share
    high: Share
    texts: Annotated[int, Field(ge=1, le=10**15)]
    confidence: Share
    accuracy: Share


class Reliability(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    ece: Share
    overconfidence: Number
    bins: Annotated[list[ReliabilityBin], Field(min_length=1)]


class RightAndWrong(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    right: Histogram
    wrong: Histogram


class Routed(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    right: Share
    to: dict[str, Share]


class ReferenceDistance(TypedDict):
    __pydantic_config__ = _OPEN  # type: ignore[misc]
    mean: dict[str, float]
    routing_clear: NotRequired[float | None]
    routing_unclear: NotRequired[float | None]
    clear_texts: NotRequired[Count]


class Evaluation(TypedDict):
    """Results on the labelled test texts (evaluation/labelled.py). confusion: [C, C], true labels by predicted labels."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    texts: Annotated[int, Field(ge=1, le=10**15)]
    scores: dict[str, Score]
    judged: str
    confusion: list[list[Count]]
    reliability: dict[str, Reliability]
    significance: dict[str, Comparison]
    confidence: RightAndWrong
    routing: dict[str, Routed] | None
    reference: NotRequired[ReferenceDistance]


class Metrics(TypedDict):
    """metrics.json: measurements and warnings."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    method: MethodSpec
    learns_from_labels: NotRequired[bool]
    labels: Annotated[list[Name], Field(min_length=1)]
    teachers: dict[str, list[Name]]
    texts: PoolTexts
    fit: NotRequired[Reported]
    health: NotRequired[dict[str, Health]]
    agreement: NotRequired[Agreement]
    supervision: NotRequired[SupervisionSummary | None]
    student: NotRequired[StudentView]
    models: NotRequired[dict[str, ModelSize]]
    generated: NotRequired[dict[str, Generated]]
    warnings: list[str]
    seconds: NotRequired[TimeSpent]
    evaluation: NotRequired[Evaluation]


class Entry(TypedDict):
    """One entry of the training's history. Methods may add numbers."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    step: Count
    phase: str
    loss: NotRequired[float]
    eval_criterion: NotRequired[float]
    eval_standard_error: NotRequired[float]


class TrainingRecord(TypedDict):
    """training.json: losses, checks, the selected step."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    steps: Count
    selected_step: Count
    seconds: Seconds
    history: list[Entry]
    report: NotRequired[Reported]


class EnvironmentRecord(TypedDict):
    """environment.json: versions and machine."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    python: str
    packages: dict[str, str]
    platform: str
    cores: Count | None
    threads: Count
    gpu: str | None


class GenerationSummary(TypedDict):
    """generation.json beside generated texts."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    texts: Count
    seconds: Seconds
    teachers: dict[str, Generated]


def _check_names(names: Iterable[str], wanted: Iterable[str], where: str) -> None:
    if missing := [name for name in wanted if name not in set(names)]:
        raise ValueError(f"{where} has nothing for '{short(missing[0])}'")


def _check_equal_lengths(lists: Iterable[list[Any]], where: str) -> None:
    if len({len(values) for values in lists}) > 1:
        raise ValueError(f"{where}: lists of different lengths")


def _check_metrics(metrics: Metrics) -> Metrics:
    """ValueError if one part of metrics.json does not fit another."""
    labels, teachers = metrics["labels"], metrics["teachers"]
    if len(set(labels)) < len(labels):
        raise ValueError("labels: the same label twice")
    for name, teacher_labels in teachers.items():
        _check_names(labels, teacher_labels, f"labels (teacher '{short(name)}' has one more)")
    _check_names(teachers, metrics.get("health", {}), "teachers")
    if agreement := metrics.get("agreement"):
        _check_equal_lengths(agreement["confidence"].values(), "agreement.confidence")
    if summary := metrics.get("supervision"):
        _check_names(summary["labels"], labels, "supervision.labels")
        for row in summary["labels"].values():
            _check_names(row["teacher_share"] or teachers, teachers, "supervision.labels.….teacher_share")
    if evaluation := metrics.get("evaluation"):
        _check_evaluation(evaluation, labels, teachers)
    return metrics


def _check_evaluation(evaluation: Evaluation, labels: list[str], teachers: Mapping[str, Any]) -> None:
    judged, scores = evaluation["judged"], evaluation["scores"]
    _check_names(scores, [judged], "evaluation.scores")
    _check_names(scores[judged], ["interval"], f"evaluation.scores.{short(judged)}")
    _check_names(evaluation["reliability"], [judged], "evaluation.reliability")
    for name, score in scores.items():
        _check_names(score["groups"], teachers, f"evaluation.scores.{short(name)}.groups")
    if [len(row) for row in evaluation["confusion"]] != [len(labels)] * len(labels):
        raise ValueError("evaluation.confusion: not a row and a column for every label")
    _check_equal_lengths(
        [evaluation["confidence"]["right"], evaluation["confidence"]["wrong"]], "evaluation.confidence"
    )
    for routed in (evaluation["routing"] or {}).values():
        _check_names(routed["to"], teachers, "evaluation.routing.….to")


def _check_history(training: TrainingRecord) -> TrainingRecord:
    for entry in training["history"]:
        if "eval_criterion" in entry and "eval_standard_error" not in entry:
            raise ValueError(f"history: no eval_standard_error at step {entry['step']}")
        if bad := [key for key, value in entry.items() if not isinstance(value, (int, float, str, type(None)))]:
            raise ValueError(f"history: no number for '{short(bad[0])}' at step {entry['step']}")
    return training


_AGAIN = "Delete it and run the recipe again with the same `output`: finished parts are kept."
_KINDS: dict[str, tuple[TypeAdapter[Any], str]] = {
    METRICS: (TypeAdapter(Annotated[Metrics, AfterValidator(_check_metrics)]), _AGAIN),
    TRAINING: (TypeAdapter(Annotated[TrainingRecord, AfterValidator(_check_history)]), "Delete it: only the report reads it."),
    ENVIRONMENT: (TypeAdapter(EnvironmentRecord), _AGAIN),
    SUMMARY: (TypeAdapter(GenerationSummary), "Delete it: only the report reads it."),
}  # fmt: skip
_MAX_BYTES = 2**30  # the largest real metrics.json, with thousands of labels, has a tenth of it


def read_metrics(folder: Path) -> Metrics | None:
    """A run's metrics.json; None if it is not there (yet). AlloyError."""
    return cast("Metrics | None", _read(folder / METRICS))


def read_training(folder: Path) -> TrainingRecord | None:
    """A run's training.json; None if there was no training (yet). AlloyError."""
    return cast("TrainingRecord | None", _read(folder / TRAINING))


def read_environment(folder: Path) -> EnvironmentRecord | None:
    """A run's environment.json; None if it is not there. AlloyError."""
    return cast("EnvironmentRecord | None", _read(folder / ENVIRONMENT))


def read_summary(folder: Path) -> GenerationSummary | None:
    """generation.json of a folder of generated texts; None if it is not there. AlloyError."""
    return cast("GenerationSummary | None", _read(folder / SUMMARY))


def recipe_of(folder: Path) -> Recipe:
    """The recipe that made a run. AlloyError if there is none, or none that can be read."""
    return read_recipe(folder / RECIPE, Recipe)


def _read(path: Path) -> Any:
    kind, hint = _KINDS[path.name]
    return read_checked(path, kind, hint)


Content = TypeVar("Content")


def read_checked(path: Path, kind: TypeAdapter[Content], hint: str) -> Content | None:
    """The content of a JSON file, checked against `kind`; None if there is no such file. The AlloyError names the file, the keys and what
    was expected there."""
    if not path.exists():
        return None
    try:
        if not path.is_file():  # a folder, or a pipe, which would wait for a writer
            raise AlloyError(
                expected=f"a file {path}", got="a folder" if path.is_dir() else "something else", hint=hint
            )
        if path.stat().st_size > _MAX_BYTES:
            raise AlloyError(expected=f"a file {path} that alloykit wrote", got="one of more than 1 GB", hint=hint)
        return kind.validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise AlloyError(expected=f"a file {path} that can be read", got=f"'{error.strerror}'", hint=hint) from error
    except ValidationError as error:
        problems = list(dict.fromkeys(map(_problem, error.errors(include_url=False))))
        more = f"\n  - and {len(problems) - 5} more" if problems[5:] else ""
        raise AlloyError(
            expected=f"{path} as alloykit wrote it",
            got="another content:\n" + "\n".join(f"  - {line}" for line in problems[:5]) + f"{more}\n",
            hint=hint,
        ) from error


def _problem(error: Any) -> str:
    """The message for one problem: the key, what was expected, what is there."""
    where = visible(".".join(short(part) for part in error["loc"]))
    message = visible(error["msg"].removeprefix("Value error, "))[:200]
    got = error["input"]
    shown = f", got {visible(repr(got))[:60]}" if isinstance(got, (str, int, float, bool, type(None))) and where else ""
    return f"{where}: {message}{shown}" if where else message + shown
