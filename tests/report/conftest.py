"""The toy runs, made once, and their pages as trees."""

from __future__ import annotations

import pytest
from toyruns import Runs, once


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return once(tmp_path_factory.getbasetemp())
