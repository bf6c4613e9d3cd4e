"""Every teacher has a name of its own, which is also that of a folder."""

from __future__ import annotations

import pytest

from alloykit.errors import AlloyError
from alloykit.teachers.hugging_face import HuggingFaceSpec
from alloykit.teachers.unique_names import unique_names


def names(*given: tuple[str, str | None]) -> list[str]:
    return unique_names([HuggingFaceSpec(model=model, name=name) for model, name in given])


def test_names_that_the_recipe_gives_come_first() -> None:
    assert names(("x/a", None), ("y/a", None), ("z/b", "a-2")) == ["a", "a-3", "a-2"]
    assert names(("x/a", None), ("y/b", "a")) == ["a-2", "a"]


def test_upper_and_lower_case_are_the_same_folder_on_macos_and_windows() -> None:
    assert names(("x/a", None), ("y/A", None)) == ["a", "A-2"]
    with pytest.raises(AlloyError, match="'Billing' twice"):
        names(("x", "billing"), ("y", "Billing"))
