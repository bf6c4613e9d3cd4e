"""The lowest version of everything that pyproject.toml declares, as constraints for pip: `make test-lowest` installs them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
BOUNDS = {">=", "==", "~="}
# The package index has a CPU build of torch only in the version that constraints.txt pins. The CUDA build of torch 2.6.0, the lowest,
# takes 3 GB: the tests of `make test-lowest` were run with it by hand, on the CPU, and they pass.
PINNED = {"torch"}


def requirements(project: dict[str, object]) -> list[str]:
    """The dependencies of the package and of all its extras, from the table `project` of pyproject.toml."""
    extras = project.get("optional-dependencies", {})
    return [*project.get("dependencies", []), *(line for extra in extras.values() for line in extra)]


def lowest(lines: Iterable[str]) -> dict[str, str]:
    """Name to lowest version of each requirement. ValueError for one that declares no lowest version, or more than one."""
    versions = {}
    for line in lines:
        found = Requirement(line)
        bounds = [bound.version for bound in found.specifier if bound.operator in BOUNDS]
        if len(bounds) != 1:
            raise ValueError(f"expected one lowest version, as in '{found.name}>=1.2'; got '{line}' in pyproject.toml")
        if versions.setdefault(found.name, bounds[0]) != bounds[0]:
            raise ValueError(
                f"{found.name} has two lowest versions in pyproject.toml: {versions[found.name]}, {bounds[0]}"
            )
    return versions


def constraints() -> list[str]:
    """One `name==version` a line: the lowest versions, then those of the packages that pyproject.toml does not declare."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    declared = {name: version for name, version in lowest(requirements(project)).items() if name not in PINNED}
    others = (ROOT / ".ci" / "lowest-others.txt").read_text(encoding="utf-8").splitlines()
    return [
        *(f"{name}=={version}" for name, version in declared.items()),
        *(line for line in pinned if line.split("==")[0] in PINNED),
        *(line for line in others if not line.startswith("#")),
    ]


if __name__ == "__main__":
    print("\n".join(constraints()))
