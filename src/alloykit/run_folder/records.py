"""training.json, environment.json, generation.json and pool-answers.json: how a student was trained, on which machine, how texts were generated, and
what the student answered to the pool."""

from __future__ import annotations

from typing import NotRequired

from alloykit.names import short
from alloykit.run_folder.values import (
    Count,
    Histogram,
    Number,
    OpenDict,
    OptionalNumber,
    Reported,
    Seconds,
    Share,
)


class Generated(OpenDict):
    """The texts that were generated for one teacher (generation/quality.py)."""

    texts: Count
    control: Share | None
    confidence: Share | None
    perplexity: OptionalNumber
    distinct_2: Number
    self_bleu: Number
    control_by_label: dict[str, Share | None]


class Entry(OpenDict):
    """One entry of the training's history: losses, or the result of a check. Methods may add numbers."""

    step: Count
    phase: str
    loss: NotRequired[float]
    eval_criterion: NotRequired[float]
    eval_standard_error: NotRequired[float]


class TrainingRecord(OpenDict):
    """training.json: losses, checks, the selected step."""

    steps: Count
    selected_step: Count
    seconds: Seconds
    history: list[Entry]
    report: NotRequired[Reported]


class EnvironmentRecord(OpenDict):
    """environment.json: versions and machine."""

    python: str
    packages: dict[str, str]
    platform: str
    cores: Count | None
    threads: Count
    gpu: str | None


class GenerationSummary(OpenDict):
    """generation.json beside generated texts."""

    texts: Count
    seconds: Seconds
    teachers: dict[str, Generated]


class CountedAnswers(OpenDict):
    """What the student answered to some texts, as counts (evaluation/drift.py: AnswerCounts)."""

    labels: list[Count]
    confidence: Histogram
    energy: Histogram
    low: Number
    high: Number
    foreign: Count | None


class PoolAnswersRecord(OpenDict):
    """pool-answers.json: `student` is the identity of the student that was asked."""

    student: str
    all: CountedAnswers
    unseen: CountedAnswers | None


def check_history(training: TrainingRecord) -> TrainingRecord:
    """ValueError for an entry of the history without a standard error or with a value that is no number."""
    for entry in training["history"]:
        if "eval_criterion" in entry and "eval_standard_error" not in entry:
            raise ValueError(f"history: no eval_standard_error at step {entry['step']}")
        if bad := [key for key, value in entry.items() if not isinstance(value, (int, float, str, type(None)))]:
            raise ValueError(f"history: no number for '{short(bad[0])}' at step {entry['step']}")
    return training
