"""What to do next, from a run's numbers and warnings."""

from __future__ import annotations

from typing import Any

import pytest
from test_verdict_training import ADVICE, learned
from verdictcases import BETTER, case, rival

from alloykit.reporting.next_steps import instructions, next_steps

USE = "Use the student: `alloykit predict RUN texts.csv`. The test found no problem."


def test_a_run_without_results_or_without_a_test() -> None:
    assert next_steps({}) == ["Run the recipe again with the same `output`. Finished parts are kept."]
    assert next_steps({"labels": ["a"]}) == [
        "Draw about 300 texts at random, label them, and run `alloykit evaluate RUN --data labelled.csv`."
    ]


def test_without_a_problem_the_student_can_be_used() -> None:
    assert next_steps(case(ensemble=BETTER)) == [USE]


@pytest.mark.parametrize("metrics", [case(0.6, teacher_a=rival(-0.2, -0.25, -0.15, 0.001)), case(0.3, ensemble=BETTER)])
def test_a_student_that_the_summary_calls_poor_is_not_recommended(metrics: dict[str, Any]) -> None:
    [step] = next_steps(metrics)
    assert step.startswith("The summary shows a problem. Try another method")


def test_a_run_without_a_student_says_so() -> None:
    [step] = next_steps(case(judged="routing", ensemble=BETTER))
    assert step.startswith("Choose a method that trains a student, such as `method: alloy`. This run has none.")


def test_the_larger_loss_comes_with_its_step() -> None:
    assert next_steps(learned(0.747, 0.871, 0.897)) == [ADVICE]
    [step] = next_steps(learned(0.68, 0.70, 0.90))
    assert step.startswith("Improve the routing, which loses 20.0 points.")
    assert next_steps(learned(0.87, 0.875, 0.89)) == [USE]


def test_labels_that_were_not_learned() -> None:
    metrics = case(ensemble=BETTER)
    metrics["evaluation"]["confusion"] = [[9, 91], [0, 900]]
    [step] = next_steps(metrics)
    assert step.startswith("Check the labels that were not learned: refund.")


@pytest.mark.parametrize(
    ("gain", "needed"),
    [
        (rival(-0.015, -0.055, 0.025, 0.4), "15,000"),  # 2.04 × (0.04 / 0.015)² × 1,000
        (rival(0.05, -0.05, 0.15, 0.3), "8,200"),
        (rival(0.004, -0.05, 0.058, 0.9), None),  # too small to be worth it
        (rival(0.1, 0.05, 0.15, 0.001), None),  # significant already
        (rival(0.05, 0.01, 0.09, 0.06), None),  # only Holm's correction makes it insignificant
    ],
)
def test_how_many_test_texts_could_decide(gain: dict[str, float], needed: str | None) -> None:
    steps = next_steps(case(ensemble=gain))
    found = [step for step in steps if step.startswith("Test on more labelled texts")]
    assert len(found) == (needed is not None)
    assert needed is None or f"With about {needed} test texts, a difference of " in found[0]


def calibrated(plain: float, tempered: float) -> dict[str, Any]:
    metrics = case(ensemble=BETTER) | {"student": {"temperature": 1.5}}
    for name, ece in (("student", plain), ("student, tempered", tempered)):
        metrics["evaluation"]["reliability"][name] = {"ece": ece, "overconfidence": 0.0}
    return metrics


def test_a_temperature_that_helps() -> None:
    assert next_steps(calibrated(0.08, 0.03)) == [
        "Use `alloykit predict`, or divide the logits by 1.50, if you need probabilities. This lowers the calibration error "
        "from 8.0\u00a0% to 3.0\u00a0%."
    ]
    assert next_steps(calibrated(0.05, 0.041)) == [USE]
    assert next_steps(calibrated(0.03, 0.08)) == [USE]


@pytest.mark.parametrize(
    ("warning", "found"),
    [
        ("teacher 'a' is odd. Set `method: {dropout: 0.1}`. It was 0.", ["Set `method: {dropout: 0.1}`. It was 0."]),
        ("teacher 'a' is odd.", []),
        ("teacher 'a. Setup' is odd.", []),
    ],
)
def test_instructions_of_a_warning(warning: str, found: list[str]) -> None:
    assert instructions(warning) == found


def test_the_instructions_of_warnings_are_steps_and_each_stands_once() -> None:
    warnings = ["teacher 'a' is odd. Set `x: 1`.", "teacher 'b' is odd. Set `x: 1`.", "teacher 'c' is odd."]
    assert next_steps(case(ensemble=BETTER) | {"warnings": warnings}) == ["Warnings 1, 2: Set `x: 1`."]
    warnings = [f"the student is under-trained. {ADVICE}", "teacher 'b' is odd. Check it."]
    assert next_steps(learned(0.747, 0.871, 0.897) | {"warnings": warnings}) == [ADVICE, "Warning 2: Check it."]
