"""metrics.json: what a run measured. Each type is a dictionary with the keys of the file; `null` in JSON is None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from pydantic import Field

from alloykit.names import short
from alloykit.run_folder.records import Generated
from alloykit.run_folder.values import (
    AtLeastOne,
    Count,
    Histogram,
    Name,
    Number,
    OpenDict,
    OptionalNumber,
    Reported,
    Seconds,
    Share,
    check_equal_lengths,
    check_names,
)

PositiveNumber = Annotated[float, Field(gt=0, le=1e12)]
# The name in evaluation/multi_label.py, which is not imported here because it needs torch.
MEAN_OF_TEACHERS = "mean of the teachers"


class MethodSpec(OpenDict):
    """The method by name, with its options."""

    name: str
    mode: NotRequired[str]


class PoolTexts(OpenDict):
    """Number of texts of the pool that are used. Other keys count the rows that were left out, by reason."""

    used: Count
    duplicates: NotRequired[Count]


class Health(OpenDict):
    """One teacher on the pool (evaluation/health.py)."""

    max_probability: Share
    excess: Number
    pass_variance: OptionalNumber
    predicted: dict[str, Count]
    abstains: NotRequired[Share]
    unknown_tokens: NotRequired[Share | None]
    truncated_texts: NotRequired[Share]


class SureTeachers(OpenDict):
    """Number of texts on which no teacher, exactly one, and several are confident."""

    none: Count
    one: Count
    several: Count


class Agreement(OpenDict):
    """How often the teachers agree on the pool (evaluation/supervision.py)."""

    confident_teachers: SureTeachers
    confidence: Annotated[dict[str, Histogram], Field(min_length=1)]


class Weights(OpenDict):
    """The weights of the texts in training, as a histogram from 0 to `up_to`."""

    up_to: PositiveNumber
    counts: Histogram


class LabelSupervision(OpenDict):
    """The texts whose target has its largest value at one label. teacher_share: how much of the target comes from each teacher."""

    texts: Count
    effective_sample_size: Number
    teacher_share: dict[str, Share] | None


class SupervisionSummary(OpenDict):
    """The method's supervision of the pool (evaluation/supervision.py)."""

    texts: AtLeastOne
    effective_sample_size: Number
    weights: Weights
    labels: dict[str, LabelSupervision]


class LeastCertain(OpenDict):
    """A text on which the student has a low confidence, with its most probable labels. text: only if the recipe allows it (`show_texts`)."""

    row: Count
    labels: dict[str, Share]
    text: NotRequired[str]
    text_pair: NotRequired[str | None]


class UnusualText(OpenDict):
    """A text that is unlike the rest of the pool. none_of_these: the share of the pool that is less unusual."""

    row: Count
    label: Name
    none_of_these: Share
    text: NotRequired[str]
    text_pair: NotRequired[str | None]


class NoneOfTheseView(OpenDict):
    """With how many texts of the pool new ones are compared, and its most unusual texts (stats/none_of_these.py)."""

    threshold: Share
    texts: Count
    unseen: bool
    most_unusual: list[UnusualText]


class StudentView(OpenDict):
    """The student on the pool (evaluation/student_confidence.py)."""

    texts: Count
    temperature: PositiveNumber | None
    unseen_texts: NotRequired[Count]
    same_as_supervision: NotRequired[Share | None]
    confidence: Histogram
    least_certain: list[LeastCertain]
    none_of_these: NotRequired[NoneOfTheseView]


class ModelSize(OpenDict):
    """The size of a model, and its speed on this machine. layers, width: None for an architecture that has none of its own."""

    parameters: Count
    layers: Count | None
    width: Count | None
    texts_per_second: Number


class TimeSpent(OpenDict):
    """Seconds. sweep: by teacher."""

    sweep: NotRequired[dict[str, Seconds]]
    training: NotRequired[Seconds | None]


class Score(OpenDict):
    """The scores of one classifier. groups: the accuracy on the texts of each teacher's labels. interval: of the accuracy, 95 %.
    correct_teacher: only of the routing, the share of texts for which the teacher with the largest weight knows the label.
    """

    accuracy: Share
    macro_f1: Share
    groups: dict[str, Share | None]
    interval: NotRequired[Annotated[list[Share], Field(min_length=2, max_length=2)]]
    correct_teacher: NotRequired[Share]
    unanswered: NotRequired[Count]


class Comparison(OpenDict):
    """The comparison of two classifiers (evaluation/significance.py)."""

    difference: Number
    low: Number
    high: Number
    p_holm: Share
    mcnemar_p_holm: Share


class ReliabilityBin(OpenDict):
    """The texts whose confidence is between low and high."""

    low: Share
    high: Share
    texts: AtLeastOne
    confidence: Share
    accuracy: Share


class Reliability(OpenDict):
    """Whether confidence and accuracy agree (evaluation/reliability.py). overconfidence: mean confidence minus accuracy."""

    ece: Share
    overconfidence: Number
    bins: Annotated[list[ReliabilityBin], Field(min_length=1)]


class RightAndWrong(OpenDict):
    """Histograms of the teachers' confidence: of those that know the text's label, and of those that do not."""

    right: Histogram
    wrong: Histogram


class Routed(OpenDict):
    """The test texts of one true label. right: the share that goes to a teacher that knows the label. to: the share for each teacher."""

    right: Share
    to: dict[str, Share]


class ReferenceDistance(OpenDict):
    """How far the targets are from the reference (evaluation/reference_distance.py)."""

    mean: dict[str, float]
    routing_clear: NotRequired[float | None]
    routing_unclear: NotRequired[float | None]
    clear_texts: NotRequired[Count]


class Evaluation(OpenDict):
    """Results on the labelled test texts (evaluation/labelled.py). of_recipe: whether the recipe names these texts. confusion: [C, C], true labels by
    predicted labels."""

    texts: AtLeastOne
    of_recipe: NotRequired[bool]
    scores: dict[str, Score]
    judged: str
    confusion: list[list[Count]]
    reliability: dict[str, Reliability]
    significance: dict[str, Comparison]
    confidence: RightAndWrong
    routing: dict[str, Routed] | None
    reference: NotRequired[ReferenceDistance]


class EstimatedAccuracyRecord(OpenDict):
    """The method's own estimate of the accuracy of its targets (methods/inputs.py: EstimatedAccuracy)."""

    overall: Share
    labels: dict[str, Share | None]
    labelled_texts: Count
    doubt: NotRequired[str]
    tested: NotRequired[str]


class LearnedLabel(OpenDict):
    texts: Count
    target: Share
    student: Share
    difference: Share
    agree: Share


class MultiLabelPool(OpenDict):
    """Student and targets on the pool, by label (evaluation/multi_label.py)."""

    texts: Count
    unseen: bool
    labels: dict[str, LearnedLabel]
    temperature: NotRequired[PositiveNumber | None]
    none_of_these: NotRequired[NoneOfTheseView]


class GivenLabel(OpenDict):
    texts: Count
    precision: Share | None
    recall: Share | None
    f1: Share | None
    average_precision: Share | None


class MultiLabelScore(OpenDict):
    micro_f1: Share | None
    macro_f1: Share | None
    exact: Share
    labels: dict[str, GivenLabel]


class F1Difference(OpenDict):
    """The difference of two micro-F1 on some texts (evaluation/multi_label.py)."""

    texts: Count
    difference: Number
    low: Number
    high: Number
    p: Share


class MultiLabelEvaluation(OpenDict):
    """Results on labelled texts with several labels each (evaluation/multi_label.py). of_recipe: as in `Evaluation`."""

    texts: Annotated[int, Field(ge=1, le=10**15)]
    of_recipe: NotRequired[bool]
    scores: dict[str, MultiLabelScore]
    significance: NotRequired[dict[str, F1Difference]]


class MultiLabelView(OpenDict):
    pool: NotRequired[MultiLabelPool]
    evaluation: NotRequired[MultiLabelEvaluation]


class Metrics(OpenDict):
    """metrics.json: measurements and warnings."""

    method: MethodSpec
    learns_from_labels: NotRequired[bool]
    labels: Annotated[list[Name], Field(min_length=1)]
    teachers: dict[str, list[Name]]
    texts: PoolTexts
    fit: NotRequired[Reported]
    estimated_accuracy: NotRequired[EstimatedAccuracyRecord]
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
    if estimated := metrics.get("estimated_accuracy"):
        check_names(estimated["labels"], labels, "estimated_accuracy.labels")
    if agreement := metrics.get("agreement"):
        check_equal_lengths(agreement["confidence"].values(), "agreement.confidence")
    if summary := metrics.get("supervision"):
        check_names(summary["labels"], labels, "supervision.labels")
        for row in summary["labels"].values():
            check_names(row["teacher_share"] or teachers, teachers, "supervision.labels.….teacher_share")
    if evaluation := metrics.get("evaluation"):
        _check_evaluation(evaluation, labels, teachers)
    if tested := metrics.get("multi_label", {}).get("evaluation"):
        check_names(tested["scores"], [MEAN_OF_TEACHERS], "multi_label.evaluation.scores")
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
