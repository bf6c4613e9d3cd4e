"""The source distribution has documentation and recipes, and the wheel's build finds all that it needs in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("src", "docs", "examples", "recipes", "benchmarks/results")
FILES = (
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
BUILD = "import sys, setuptools.build_meta as b; b.build_sdist(sys.argv[1])"


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Files of a source distribution that is built, without a network, from a copy of the project."""
    copy = tmp_path_factory.mktemp("project")
    for part in PARTS:
        ignored = shutil.ignore_patterns("*.egg-info", "__pycache__", "*.json")
        shutil.copytree(ROOT / part, copy / part, ignore=ignored)
    for file in FILES:
        shutil.copy(ROOT / file, copy)
    done = subprocess.run([sys.executable, "-c", BUILD, "dist"], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = (copy / "dist").iterdir()
    with tarfile.open(built) as archive:
        return {"/".join(Path(name).parts[1:]) for name in archive.getnames()}


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("docs", "*.md"),
        ("docs", "*.py"),
        ("docs", "*.svg"),
        ("examples", "*.py"),
        ("examples", "*.toml"),
        ("recipes", "*.yaml"),
        ("benchmarks/results", "*.md"),
        ("src/alloykit", "*"),
    ],
)
def test_every_file_is_in_it(folder: str, pattern: str, contents: set[str]) -> None:
    wanted = {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob(pattern) if p.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name and not name.startswith("docs/results/")}
    assert wanted
    assert not wanted - contents


def test_project_files_are_in_it_and_nothing_that_was_built(contents: set[str]) -> None:
    assert set(FILES) - {"MANIFEST.in"} <= contents
    assert not [name for name in contents if name.startswith(("docs/results/", "build/", ".venv"))]
