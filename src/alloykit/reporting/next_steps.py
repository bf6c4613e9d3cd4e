"""What a reader of the report can do next, from the verdict's numbers and the warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.evaluation.answers import STUDENT
from alloykit.reporting.figures import percent
from alloykit.reporting.verdict import (
    ALPHA,
    EQUIVALENT,
    NEGLIGIBLE,
    best_alternative,
    compared_texts,
    not_learned,
    training_and_routing_loss,
    verdict,
)

GAIN = 0.01  # a step is suggested if it lowers the calibration error by more than this
FOUR_OF_FIVE = 2.04  # ((z_0.975 + z_0.8) / z_0.975)²: times as many texts as for half of the tests
WORTH_TESTING = 0.005  # a smaller difference of accuracies would take too many test texts
USE = "Use the student: `alloykit predict RUN texts.csv`. The test found no problem."
POOR = "The summary shows a problem. Try another method (`alloykit methods` lists them), other teachers, or a larger student."
TRAIN = "Choose a method that trains a student, such as `method: alloy`. This run has none. The test found no problem with the targets."
_IMPERATIVE = re.compile(
    r"(?:Add|Check|Choose|Compare|Give|Increase|Leave|Look|Lower|Name|Raise|Read|Remove|Run|Set|Train|Try|Use)\b"
)


def next_steps(metrics: Mapping[str, Any]) -> list[str]:
    """Sentences in the imperative, the most useful first; `commands` stand between backticks. metrics: metrics.json."""
    if not metrics:
        return ["Run the recipe again with the same `output`. Finished parts are kept."]
    if metrics.get("evaluation"):
        steps = _after_the_test(metrics)
    elif (metrics.get("multi_label") or {}).get("evaluation"):
        steps = []
    else:
        steps = ["Draw about 300 texts at random, label them, and run `alloykit evaluate RUN --data labelled.csv`."]
    steps = list(dict.fromkeys(steps + _of_warnings(metrics, steps)))
    if steps:
        return steps
    if verdict(metrics).status == "poor":
        return [POOR]
    return [USE if _has_student(metrics) else TRAIN]


def _has_student(metrics: Mapping[str, Any]) -> bool:
    return (metrics.get("evaluation") or {}).get("judged", STUDENT) == STUDENT


def _of_warnings(metrics: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    """The instructions in the warnings, each once, with the numbers of its warnings. Instructions that are already steps are left out."""
    numbers: dict[str, list[int]] = {}
    for number, warning in enumerate(metrics.get("warnings") or [], 1):
        for instruction in instructions(warning):
            if not any(instruction.startswith(step) for step in known):
                numbers.setdefault(instruction, []).append(number)
    return [
        f"Warning{'s' if found[1:] else ''} {', '.join(map(str, found))}: {text}" for text, found in numbers.items()
    ]


def instructions(warning: str) -> list[str]:
    """What a warning asks the reader to do: its sentences that begin with a verb in the imperative, from the first one on."""
    sentences = re.split(r"(?<=[.?!:])\s+(?=[A-Z])", warning)
    first = next((i for i, sentence in enumerate(sentences) if _IMPERATIVE.match(sentence)), None)
    return [] if first is None else [" ".join(sentences[first:])]


def _after_the_test(metrics: Mapping[str, Any]) -> list[str]:
    found = metrics["evaluation"]
    steps = []
    training, routing = training_and_routing_loss(found)
    advice = (metrics.get("learning") or {}).get("advice")
    if training is not None and training > NEGLIGIBLE and (routing is None or training > routing) and advice:
        steps.append(advice)
    if routing is not None and routing > max(training or 0, EQUIVALENT):
        steps.append(
            f"Improve the routing, which loses {100 * routing:.1f} points. The section Routing shows which labels go to a wrong teacher. Add "
            "unlabelled texts of these labels, or try another method (`alloykit methods` lists them)."
        )
    if missing := not_learned(metrics):
        steps.append(
            f"Check the labels that were not learned: {', '.join(missing[:5])}{' …' if missing[5:] else ''}. The section Data shows how many "
            "texts of the pool each of them got."
        )
    steps += _more_test_texts(found) + _temperature(metrics)
    return steps


def _more_test_texts(found: Mapping[str, Any]) -> list[str]:
    """How many test texts would show a difference of this size in four of five tests. The half-width of the interval falls with the square root of
    their number. Where it is as large as the difference, half of the tests show it."""
    best = best_alternative(found)
    if best is None:
        return []
    gain = found["significance"][best]
    difference, half = abs(gain["difference"]), (gain["high"] - gain["low"]) / 2
    if gain["p_holm"] < ALPHA or difference < WORTH_TESTING:
        return []
    if half <= difference:  # only Holm's correction makes it insignificant
        return []
    needed = FOUR_OF_FIVE * compared_texts(found, best) * (half / difference) ** 2
    digits = 2 - math.ceil(math.log10(needed))
    return [
        f"Test on more labelled texts if you need to know which is better. With about {round(needed, digits):,.0f} test "
        f"texts, a difference of {100 * difference:.1f} points would be significant in four of five tests."
    ]


def _temperature(metrics: Mapping[str, Any]) -> list[str]:
    reliability = metrics["evaluation"]["reliability"]
    plain, tempered = reliability.get("student"), reliability.get("student, tempered")
    temperature = (metrics.get("student") or {}).get("temperature")
    if not plain or not tempered or not temperature or plain["ece"] - tempered["ece"] <= GAIN:
        return []
    return [
        f"Use `alloykit predict`, or divide the logits by {temperature:.2f}, if you need probabilities. This lowers the calibration "
        f"error from {percent(plain['ece'])} to {percent(tempered['ece'])}."
    ]
