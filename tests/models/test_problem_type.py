"""What transformers calls the two kinds of classifiers is written in one place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import alloykit
from alloykit.models.problem_type import MULTI_LABEL, is_multi_label, set_multi_label

SOURCES = Path(alloykit.__file__).parent


def test_only_one_file_names_them() -> None:
    found = [path.name for path in sorted(SOURCES.rglob("*.py")) if f'"{MULTI_LABEL}"' in path.read_text("utf-8")]
    assert found == ["problem_type.py"]


def test_it_is_read_as_it_was_written() -> None:
    config = SimpleNamespace()
    assert not is_multi_label(config)
    for multi_label in (True, False):
        set_multi_label(config, multi_label)
        assert is_multi_label(config) is multi_label
