"""Many similar cases, of which only some run with the quick tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_quick(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Values for `parametrize`. Those in `quick` run with the quick tests, the others with the slow ones."""
    cases = list(cases)
    assert all(case in cases for case in quick), "a quick case is none of the cases"
    return [pytest.param(case, marks=() if case in quick else pytest.mark.slow) for case in cases]
