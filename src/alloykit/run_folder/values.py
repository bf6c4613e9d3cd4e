"""The kinds of values in the JSON files of a run folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from alloykit.methods.report_sections import MethodReport
from alloykit.names import short

Share = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6, allow_inf_nan=False)]
Number = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]
OptionalNumber = Number | None
Count = Annotated[int, Field(ge=0, le=10**15)]
AtLeastOne = Annotated[int, Field(ge=1, le=10**15)]
Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Histogram = Annotated[list[Count], Field(min_length=1, max_length=10_000)]
Name = Annotated[str, Field(min_length=1)]


class OpenDict(TypedDict):
    """A dictionary that keeps keys that its type does not name: methods and later versions add keys. No code may rely on such keys."""

    __pydantic_config__ = ConfigDict(extra="allow", strict=True)  # type: ignore[misc]


def _checked_report(value: dict[str, Any]) -> dict[str, Any]:
    """ValueError for anything but a `MethodReport` as JSON."""
    try:
        MethodReport.model_validate_json(json.dumps(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if "warnings" not in value or "sections" not in value:
        raise ValueError("expected warnings and sections")
    return value


Reported = Annotated[dict[str, Any], AfterValidator(_checked_report)]
"""A `MethodReport` (methods/report_sections.py) as JSON values."""


def check_names(names: Iterable[str], wanted: Iterable[str], where: str) -> None:
    """ValueError if one of the wanted names is missing. where: the part of the file, for the message."""
    there = set(names)
    if missing := [name for name in wanted if name not in there]:
        raise ValueError(f"{where} has nothing for '{short(missing[0])}'")


def check_equal_lengths(lists: Iterable[list[Any]], where: str) -> None:
    """ValueError for lists of different lengths. where: the part of the file, for the message."""
    if len({len(values) for values in lists}) > 1:
        raise ValueError(f"{where}: lists of different lengths")
