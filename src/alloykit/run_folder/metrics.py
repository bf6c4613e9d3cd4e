"""metrics.json: what a run measured. Each type is a dictionary with the keys of the file. Other keys are kept, because methods and later
versions add keys; the code must not rely on them. `null` in JSON is None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from alloykit.names import short
from alloykit.run_folder.records import Generated
from alloykit.run_folder.values import (
    OPEN,
    Count,
    Histogram,
    Name,
    Number,
    OptionalNumber,
    Reported,
    Seconds,
    Share,
    check_equal_lengths,
    check_names,
)


class MethodSpec(TypedDict):
    """The method by name, with its options."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    name: str
    mode: NotRequired[str]


class PoolTexts(TypedDict):
    """Number of texts of the pool that are used. Other keys count the rows that were left out, by reason."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    used: Count
    duplicates: NotRequired[Count]


class Health(TypedDict):
    """One teacher on the pool (evaluation/health.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    max_probability: Share
    excess: Number
    pass_variance: OptionalNumber
    predicted: dict[str, Count]
    unknown_tokens: NotRequired[Share | None]
    truncated_texts: NotRequired[Share]


class SureTeachers(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    none: Count
    one: Count
    several: Count


class Agreement(TypedDict):
    """How often the teachers agree on the pool (evaluation/supervision.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    sure_teachers: SureTeachers
    confidence: Annotated[dict[str, Histogram], Field(min_length=1)]


class Weights(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    up_to: Annotated[float, Field(gt=0, le=1e12)]
    counts: Histogram


class LabelSupervision(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Count
    effective_sample_size: Number
    teacher_share: dict[str, Share] | None


class SupervisionSummary(TypedDict):
    """The method's supervision of the pool (evaluation/supervision.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Annotated[int, Field(ge=1, le=10**15)]
    effective_sample_size: Number
    weights: Weights
    labels: dict[str, LabelSupervision]


class LeastCertain(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    row: Count
    labels: dict[str, Share]
    text: NotRequired[str]
    text_pair: NotRequired[str | None]


class UnusualText(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    row: Count
    label: Name
    none_of_these: Share
    text: NotRequired[str]
    text_pair: NotRequired[str | None]


class NoneOfTheseView(TypedDict):
    """With how many texts of the pool new ones are compared, and its most unusual texts (stats/none_of_these.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    threshold: Share
    texts: Count
    unseen: bool
    most_unusual: list[UnusualText]


class StudentView(TypedDict):
    """The student on the pool (evaluation/student_confidence.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Count
    temperature: Annotated[float, Field(gt=0, le=1e12)] | None
    unseen_texts: NotRequired[Count]
    same_as_supervision: NotRequired[Share | None]
    confidence: Histogram
    least_certain: list[LeastCertain]
    none_of_these: NotRequired[NoneOfTheseView]


class ModelSize(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    parameters: Count
    layers: Count
    width: Count
    texts_per_second: Number


class TimeSpent(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    sweep: NotRequired[dict[str, Seconds]]
    training: NotRequired[Seconds | None]


class Score(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    accuracy: Share
    macro_f1: Share
    groups: dict[str, Share | None]
    interval: NotRequired[Annotated[list[Share], Field(min_length=2, max_length=2)]]
    right_teacher: NotRequired[Share]
    unanswered: NotRequired[Count]


class Comparison(TypedDict):
    """The comparison of two classifiers (evaluation/significance.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    difference: Number
    low: Number
    high: Number
    p_holm: Share
    mcnemar_p_holm: Share


class ReliabilityBin(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    low: Share
    high: Share
    texts: Annotated[int, Field(ge=1, le=10**15)]
    confidence: Share
    accuracy: Share


class Reliability(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    ece: Share
    overconfidence: Number
    bins: Annotated[list[ReliabilityBin], Field(min_length=1)]


class RightAndWrong(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    right: Histogram
    wrong: Histogram


class Routed(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    right: Share
    to: dict[str, Share]


class ReferenceDistance(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    mean: dict[str, float]
    routing_clear: NotRequired[float | None]
    routing_unclear: NotRequired[float | None]
    clear_texts: NotRequired[Count]


class Evaluation(TypedDict):
    """Results on the labelled test texts (evaluation/labelled.py). confusion: [C, C], true labels by predicted labels."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Annotated[int, Field(ge=1, le=10**15)]
    scores: dict[str, Score]
    judged: str
    confusion: list[list[Count]]
    reliability: dict[str, Reliability]
    significance: dict[str, Comparison]
    confidence: RightAndWrong
    routing: dict[str, Routed] | None
    reference: NotRequired[ReferenceDistance]


class LearnedLabel(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Count
    target: Share
    student: Share
    difference: Share
    agree: Share


class MultiLabelPool(TypedDict):
    """Student and targets on the pool, by label (evaluation/multi_label.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Count
    unseen: bool
    labels: dict[str, LearnedLabel]


class GivenLabel(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Count
    precision: Share | None
    recall: Share | None
    f1: Share | None
    average_precision: Share | None


class MultiLabelScore(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    micro_f1: Share | None
    macro_f1: Share | None
    exact: Share
    labels: dict[str, GivenLabel]


class MultiLabelEvaluation(TypedDict):
    """Results on labelled texts with several labels each (evaluation/multi_label.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Annotated[int, Field(ge=1, le=10**15)]
    scores: dict[str, MultiLabelScore]


class MultiLabelView(TypedDict):
    __pydantic_config__ = OPEN  # type: ignore[misc]
    pool: NotRequired[MultiLabelPool]
    evaluation: NotRequired[MultiLabelEvaluation]


class Metrics(TypedDict):
    """metrics.json: measurements and warnings."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
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
    multi_label: NotRequired[MultiLabelView]


def check_parts(metrics: Metrics) -> Metrics:
    """ValueError if one part of metrics.json does not fit another."""
    labels, teachers = metrics["labels"], metrics["teachers"]
    if len(set(labels)) < len(labels):
        raise ValueError("labels: the same label twice")
    for name, teacher_labels in teachers.items():
        check_names(labels, teacher_labels, f"labels (teacher '{short(name)}' has one more)")
    check_names(teachers, metrics.get("health", {}), "teachers")
    if agreement := metrics.get("agreement"):
        check_equal_lengths(agreement["confidence"].values(), "agreement.confidence")
    if summary := metrics.get("supervision"):
        check_names(summary["labels"], labels, "supervision.labels")
        for row in summary["labels"].values():
            check_names(row["teacher_share"] or teachers, teachers, "supervision.labels.….teacher_share")
    if evaluation := metrics.get("evaluation"):
        _check_evaluation(evaluation, labels, teachers)
    return metrics


def _check_evaluation(evaluation: Evaluation, labels: list[str], teachers: Mapping[str, Any]) -> None:
    judged, scores = evaluation["judged"], evaluation["scores"]
    check_names(scores, [judged], "evaluation.scores")
    check_names(scores[judged], ["interval"], f"evaluation.scores.{short(judged)}")
    check_names(evaluation["reliability"], [judged], "evaluation.reliability")
    for name, score in scores.items():
        check_names(score["groups"], teachers, f"evaluation.scores.{short(name)}.groups")
    if [len(row) for row in evaluation["confusion"]] != [len(labels)] * len(labels):
        raise ValueError("evaluation.confusion: not a row and a column for every label")
    check_equal_lengths([evaluation["confidence"]["right"], evaluation["confidence"]["wrong"]], "evaluation.confidence")
    for routed in (evaluation["routing"] or {}).values():
        check_names(routed["to"], teachers, "evaluation.routing.….to")
