"""Reports of many teachers."""

from __future__ import annotations

from typing import Any

from alloykit.methods.alloy.report import routing_sections
from alloykit.methods.report_sections import READABLE, Series, Table


def test_the_lines_that_change_most() -> None:
    lines = {f"t{n}": (0.5, 0.5 + (-1) ** n * n / 1000) for n in range(300)}
    shown = Series.of_many(lines, "Shares.", x="step", y="y", points=(0, 1))
    assert list(shown.lines) == [f"t{n}" for n in range(300 - READABLE, 300)]
    assert shown.caption == f"Shares. Shown are the {READABLE} of 300 lines that change most."
    few = Series.of_many({"a": (1.0,), "b": (1.0,)}, "Shares.", x="step", y="y", points=(0,))
    assert (list(few.lines), few.caption) == (["a", "b"], "Shares.")
    assert list(Series.of_many({"a": (), "b": ()}, "Nothing yet.", x="step", y="y", points=()).lines) == ["a", "b"]


def test_alloy_reports_of_three_hundred_teachers() -> None:
    """A table of all of them, and a figure of some."""
    names = [f"t{n}" for n in range(300)]
    each = dict.fromkeys(names, 0.5)
    found: dict[str, Any] = {
        "texts": 1000, "repeats": 0, "used": True, "background": None, "background_gain": 0.0, "background_too_few": False, "changed": 0.1, "agreement": 0.9, "inverse_temperature": 1.0,
        "skill": 0.8, "label_agreement": 0.8, "teacher_agreement": 0.8, "mean_separation": 1.0, "by_energies": False, "separation": each, "clarity": each, "examples": [],
        "shares": {name: [1 / 300, 1 / 300] for name in names},
    }  # fmt: skip
    [section] = routing_sections(found, names)
    assert [len(part.rows) for part in section.parts if isinstance(part, Table)] == [300]
    assert [len(part.lines) for part in section.parts if isinstance(part, Series)] == [READABLE]
    assert "κ′ below 0.02" in str(section), "0.27 / √299"
    assert "below 0.33 the mixture is used only if κ is at least 0.55" in str(section)
    [older] = routing_sections(found | {"teacher_agreement": None}, names)
    assert "κ" not in str(older), "a fit of an older version has one of the two measures"
    assert "below 0.33 the mixture is not used" in str(older)
