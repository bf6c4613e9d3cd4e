"""No network, few threads, and the fixtures of all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["PIP_NO_INDEX"] = "1"  # of pip, should a test start it
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["CUDA_VISIBLE_DEVICES"] = (
    ""  # a GPU computes in bfloat16: its figures differ, and so do the devices that messages name
)
os.environ["OMP_NUM_THREADS"] = "1"  # NumPy's threads too: those of two processes would wait for each other
sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    """The process of pytest-xdist that hands out the tests runs none of them. It need not wait for torch."""
    if "PYTEST_XDIST_WORKER" in os.environ or not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("common_fixtures")
