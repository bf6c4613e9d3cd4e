"""`make test-lowest` installs exactly the lowest version of every dependency, so every dependency declares one."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(lines: list[str]) -> dict[str, str]:
    found = [Requirement(line) for line in lines]
    assert all([bound.operator for bound in f.specifier] == ["=="] for f in found), lines
    names = [f.name.lower().replace("_", "-") for f in found]
    assert len(set(names)) == len(names), "pip would see two versions of one package"
    return {name: next(iter(f.specifier)).version for name, f in zip(names, found, strict=True)}


def test_every_declared_dependency_has_one_exact_version() -> None:
    chosen = pins(SCRIPT["constraints"]())
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    for line in lines:
        declared = Requirement(line)
        version = chosen[declared.name.lower()]
        assert declared.specifier.contains(version)
        if declared.name != "torch":
            assert any(Version(bound.version) == Version(version) for bound in declared.specifier), line


def test_torch_is_the_pinned_one() -> None:
    pinned = pins((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    assert pins(SCRIPT["constraints"]())["torch"] == pinned["torch"]


@pytest.mark.parametrize(
    ("line", "version"), [("a>=1.2", "1.2"), ("a >=5,<6", "5"), ("a[x]==0.1.0", "0.1.0"), ("a~=2.1; python_version>'3'", "2.1")]
)  # fmt: skip
def test_the_lower_bound_is_the_version(line: str, version: str) -> None:
    assert SCRIPT["lowest"]([line]) == {"a": version}


@pytest.mark.parametrize("line", ["a", "a<2", "a!=1.1", "a>1", "a>=1,>=2"])
def test_a_dependency_without_a_lower_bound_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expected one lowest version"):
        SCRIPT["lowest"]([line])


def test_one_package_has_one_lowest_version() -> None:
    with pytest.raises(ValueError, match="two lowest versions"):
        SCRIPT["lowest"](["a>=1", "a>=2"])


def test_the_chosen_tests_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    chosen = re.search(r"^LOWEST_TESTS := (.*)$", makefile, re.M)
    assert chosen is not None
    missing = [path for path in chosen[1].split() if not (ROOT / path.split("::")[0]).exists()]
    assert not missing, "give LOWEST_TESTS of the Makefile their new place"
