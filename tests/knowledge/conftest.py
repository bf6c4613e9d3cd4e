"""The two teachers of tests/conftest.py, described."""

from __future__ import annotations

from pathlib import Path

import pytest
from knowing import info

from alloykit.teachers.hugging_face import HuggingFaceInfo


@pytest.fixture(scope="session")
def billing(models: dict[str, Path]) -> HuggingFaceInfo:
    return info(models["billing"])


@pytest.fixture(scope="session")
def delivery(models: dict[str, Path]) -> HuggingFaceInfo:
    return info(models["delivery"])
