"""A package as if it were installed: its code and its entry points on the import path, without pip."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from alloykit.methods import registry


def install(package: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """package: a folder with pyproject.toml and src/. site: an empty folder, for what an installer writes."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(package / "src"))
    monkeypatch.syspath_prepend(str(site))
    forget_installed_methods(monkeypatch)


def forget_installed_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """During this test, entry points are read again; afterwards those from before it count."""
    monkeypatch.setattr(registry, "installed_methods", cache(registry.installed_methods.__wrapped__))
