"""The kinds of values in the JSON files of a run folder, and what they have in common. Other keys than those described are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from alloykit.methods.report_sections import MethodReport
from alloykit.names import short

Share = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6, allow_inf_nan=False)]
Number = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]
OptionalNumber = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)] | None
Count = Annotated[int, Field(ge=0, le=10**15)]
Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Histogram = Annotated[list[Count], Field(min_length=1, max_length=10_000)]
Name = Annotated[str, Field(min_length=1)]
OPEN = ConfigDict(extra="allow", strict=True)


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


def check_names(names: Iterable[str], wanted: Iterable[str], where: str) -> None:
    if missing := [name for name in wanted if name not in set(names)]:
        raise ValueError(f"{where} has nothing for '{short(missing[0])}'")


def check_equal_lengths(lists: Iterable[list[Any]], where: str) -> None:
    if len({len(values) for values in lists}) > 1:
        raise ValueError(f"{where}: lists of different lengths")
