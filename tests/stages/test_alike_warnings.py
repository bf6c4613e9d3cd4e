"""Warnings of one kind become one."""

from __future__ import annotations

from typing import Any

import pytest

from alloykit.evaluation.health import health_warnings
from alloykit.reporting.next_steps import instructions
from alloykit.stages.alike_warnings import ALIKE, SHOWN, alike_as_one
from alloykit.stages.findings import Findings

FINE = {"saturated_texts": 0.0, "pass_variance": None, "predicted": {"a": 30, "b": 70}}


def unlike_its_pool(share: int) -> dict[str, Any]:
    return FINE | {"predicted": {"a": 100 - share, "b": share}}


def test_a_few_stay_as_they_are() -> None:
    found = health_warnings({f"t{n}": unlike_its_pool(97) for n in range(ALIKE - 1)})
    assert alike_as_one([*found, "something else"]) == [*found, "something else"]
    assert alike_as_one([]) == []


def test_many_of_a_kind_are_one_in_the_place_of_the_first() -> None:
    """Names and numbers of the others are before it, so what the reader should do stays at the end."""
    alike = health_warnings({f"t{n}": unlike_its_pool(96 + n) for n in range(ALIKE)})
    found = alike_as_one(["first", alike[0], "between 1 and 2", *alike[1:], "between 3 and 4"])
    assert found == [
        "first",
        f"{ALIKE} warnings like this one, also for 't1' (97), 't2' (98), 't3' (99): teacher 't0' predicts 'b' on 96 % of the texts. "
        "Check that the pool has texts of its other labels.",
        "between 1 and 2",
        "between 3 and 4",
    ]
    assert instructions(found[1]) == instructions(alike[0])


def test_a_long_list_is_cut() -> None:
    [found] = alike_as_one(health_warnings({f"t{n}": unlike_its_pool(97) for n in range(60)}))
    assert found.startswith("60 warnings like this one, also for 't1', 't2', ")
    assert f"'t{SHOWN}' and {59 - SHOWN} more: teacher 't0' predicts" in found


@pytest.mark.parametrize("names", [("l1", "l2", "l12", "l22"), ("a b", "a", "b", "a (b)"), ("x", "y", "z", "of")])
def test_a_name_without_quotes_is_a_name_too(names: tuple[str, ...]) -> None:
    """One name may be a part of another."""
    warnings = [f"label '{name}' of 't{n}' has 3 texts: set `[{name}]`." for n, name in enumerate(names)]
    [found] = alike_as_one(warnings)
    assert found.endswith(f": {warnings[0]}")
    assert all(f"'{name}' ('t{n}')" in found for n, name in enumerate(names) if n)


def test_the_same_warning_again_and_again() -> None:
    assert alike_as_one(["no names"] * 5) == [
        "5 warnings like this one, also for the same, the same, the same, the same: no names"
    ]


@pytest.mark.parametrize(
    "odd",
    ["text # of 3", "text ' of '' 3", "text `a` of 'a' and `b", "'\ue000' of '\ue001' \ue000", "", "'" * 9, "`" * 5],
)
def test_odd_characters_of_names(odd: str) -> None:
    """No name can stop a run."""
    warnings = [odd, odd.replace("#", "3"), f"{odd} '#'", f"{odd} '3'", f"{odd} 3", f"{odd} #", "\ue000", "'a'"]
    assert 0 < len(alike_as_one(warnings * 2)) <= 16


def test_a_run_prints_and_keeps_one(capsys: pytest.CaptureFixture[str]) -> None:
    findings = Findings({}, ["known before the sweep"])
    findings.add_student(None, None, None, None, report=False)  # type: ignore[arg-type]
    findings.warnings += health_warnings({f"t{n}": unlike_its_pool(97) for n in range(5)})
    findings.add_student(None, None, None, None, report=False)  # type: ignore[arg-type]
    assert len(findings.warnings) == 2
    printed = "".join(capsys.readouterr())
    assert printed.count("warning: ") == 2
    assert "warning: 5 warnings like this one, also for 't1'" in printed
