"""Whose files are in the way, and what is removed of them: without a command, file by file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from alloykit import files
from alloykit.errors import AlloyError
from alloykit.run_folder.output_folder import check_file, check_output, refuse_others, remove


def test_a_device_is_no_folder() -> None:
    for place in ("/dev/null", "/dev/null/run"):
        with pytest.raises(AlloyError, match="got the file '/dev/null'"):
            check_output(Path(place))


def test_a_file_is_found_among_links_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "5").write_text("mine")
    for n in (0, 1, 8, 9):
        (tmp_path / str(n)).symlink_to(tmp_path / "gone")
    with pytest.raises(AlloyError, match="one of"):
        check_file(tmp_path / "5", [tmp_path])
    check_file(tmp_path / "new", [tmp_path])


def test_inputs_that_are_no_paths_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    check_file(tmp_path / "a", ["a text that is too long for a name " * 200, "a\0b", None])
    check_file(tmp_path / "a\0b", [tmp_path / "a"])


def test_only_foreign_files_are_refused(tmp_path: Path) -> None:
    refuse_others(tmp_path / "new", "recipe.yaml")
    left = f".alloykit-{files._machine()}-1-1.tmp"
    for name in (".alloykit.lock", ".removed-student", left, "cache"):
        (tmp_path / name).touch()
    refuse_others(tmp_path, "recipe.yaml", ("cache",))
    for names, words in (
        (("cache",), r"with other files \('cache'\)"),
        (("thesis.txt",), r"\('cache' and 1 more\)"),
        (("a",), r"\('a' and 2 more\)"),
    ):
        (tmp_path / names[0]).touch()
        with pytest.raises(AlloyError, match=words):
            refuse_others(tmp_path, "recipe.yaml")
    (tmp_path / "recipe.yaml").touch()
    refuse_others(tmp_path, "recipe.yaml")


def made(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text(name)


def test_the_output_may_lie_behind_a_link(tmp_path: Path) -> None:
    made(tmp_path / "disk" / "run", "export/onnx")
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    remove(tmp_path / "link" / "run", ["export/onnx"])
    assert not list((tmp_path / "disk" / "run" / "export").iterdir())


def test_a_folder_in_the_place_of_a_file_is_called_that(tmp_path: Path) -> None:
    made(tmp_path, "report.html")
    with pytest.raises(AlloyError, match=r"a file that alloykit made as .*report.html; got a folder"):
        remove(tmp_path, ["report.html"])


def test_a_link_where_something_is_removed_is_not_followed(tmp_path: Path) -> None:
    made(tmp_path, "mine", "run/student")
    (tmp_path / "run" / ".removed-student").symlink_to(tmp_path / "mine")
    remove(tmp_path / "run", ["student"])
    assert list((tmp_path / "run").iterdir()) == []
    assert (tmp_path / "mine" / "file").exists()


def test_a_folder_that_cannot_be_emptied_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renaming it would work. If the first folder does not get its name again, the message is still about the second one."""
    made(tmp_path, "student", "training")
    monkeypatch.setattr(os, "access", lambda path, mode: "training" not in str(path))
    with pytest.raises(AlloyError, match="permission to use .*training.*remove it yourself"):
        remove(tmp_path, ["student", "training"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["student", "training"]
    rename = Path.rename

    def once(path: Path, to: Path) -> Path:
        if path.name.startswith("."):
            raise OSError("not again")
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(AlloyError, match="permission to use .*training.*remove it yourself"):
        remove(tmp_path, ["student", "training"])


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "student")

    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shutil, "rmtree", refused)
    with pytest.raises(AlloyError, match=r"permission to use .*\.removed-student.*remove it yourself"):
        remove(tmp_path, ["student"])
