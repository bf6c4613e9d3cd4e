"""training.json, environment.json and generation.json: how a student was trained, on which machine, and how texts were generated."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from alloykit.names import short
from alloykit.run_folder.values import OPEN, Count, Number, OptionalNumber, Reported, Seconds, Share


class Generated(TypedDict):
    """The texts that were generated for one teacher (generation/quality.py)."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Count
    control: Share | None
    confidence: Share | None
    perplexity: OptionalNumber
    distinct_2: Number
    self_bleu: Number
    control_by_label: dict[str, Share | None]


class Entry(TypedDict):
    """One entry of the training's history. Methods may add numbers."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    step: Count
    phase: str
    loss: NotRequired[float]
    eval_criterion: NotRequired[float]
    eval_standard_error: NotRequired[float]


class TrainingRecord(TypedDict):
    """training.json: losses, checks, the selected step."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    steps: Count
    selected_step: Count
    seconds: Seconds
    history: list[Entry]
    report: NotRequired[Reported]


class EnvironmentRecord(TypedDict):
    """environment.json: versions and machine."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    python: str
    packages: dict[str, str]
    platform: str
    cores: Count | None
    threads: Count
    gpu: str | None


class GenerationSummary(TypedDict):
    """generation.json beside generated texts."""

    __pydantic_config__ = OPEN  # type: ignore[misc]
    texts: Count
    seconds: Seconds
    teachers: dict[str, Generated]


def check_history(training: TrainingRecord) -> TrainingRecord:
    for entry in training["history"]:
        if "eval_criterion" in entry and "eval_standard_error" not in entry:
            raise ValueError(f"history: no eval_standard_error at step {entry['step']}")
        if bad := [key for key, value in entry.items() if not isinstance(value, (int, float, str, type(None)))]:
            raise ValueError(f"history: no number for '{short(bad[0])}' at step {entry['step']}")
    return training
