"""Check the places that commands write to: refuse other people's files, and remove only alloykit's own."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.file_errors import os_error
from alloykit.files import is_left_over, is_stream
from alloykit.paths import user_path

LOCK_FILES = ".alloykit."  # prefix of the files of a lock (lock.py)
INSTEAD = "remove it yourself, or choose another `output`"
REMOVED = ".removed-"  # prefix of files that are being removed


def check_output(folder: Path) -> None:
    """AlloyError if something other than a folder is in the way."""
    for place in (folder, *folder.parents):
        if place.is_symlink() and not place.exists():
            got, hint = f"'{place}', a link to nowhere", "Remove the link, or choose another output."
            raise AlloyError(expected="a folder as `output`", got=got, hint=hint)
        if place.exists() and not place.is_dir():
            raise AlloyError(expected="a folder as `output`", got=f"the file '{place}'", hint="Choose another output.")


def check_file(path: Path, inputs: Iterable[object]) -> None:
    """AlloyError if the path of a file to be written is a folder, or a file that the command reads. inputs: what it reads; of these, files and
    the files in folders count."""
    if path.is_dir():
        raise AlloyError(
            expected="a file to write to",
            got=f"the folder '{path}'",
            hint="Give the name of a file in it as `--output`.",
        )
    if is_stream(path):
        return
    for place in inputs:
        if isinstance(place, (str, Path)) and _holds(user_path(place), path):
            raise AlloyError(
                expected="another file as `--output` than those that the command reads",
                got=f"'{path}', which is {'one of' if user_path(place).is_dir() else 'the same file as'} '{place}'",
                hint="Choose another name.",
            )


def _holds(place: Path, path: Path) -> bool:
    """Whether an existing file is this file, or is in this folder."""
    try:
        return any(path.samefile(each) for each in (place.iterdir() if place.is_dir() else [place]) if each.exists())
    except (OSError, ValueError):  # no path: a hub id, or a text
        return False


def check_new_file(path: Path, *, overwrite: bool, loses: str = "", inputs: Iterable[object] = ()) -> None:
    """AlloyError if the path is a folder, a file that the command reads, or a file that exists and is not to be replaced. loses: what the file
    may hold, for the message. inputs: as for `check_file`."""
    check_file(path, inputs)
    if os.path.lexists(path) and not is_stream(path) and not overwrite:
        raise AlloyError(
            expected="a new file as `--output`",
            got=f"'{path}', which exists{loses}",
            hint="Choose another name, or replace it with `--overwrite`.",
        )


def refuse_others(folder: Path, made: str, allowed: Sequence[str] = ()) -> None:
    """AlloyError if the folder has files that are not alloykit's. Without the file `made`, every file counts as such.

    allowed: names that may exist before. Left-over files of a killed process count as alloykit's.
    """
    check_output(folder)
    if not folder.exists() or (folder / made).exists():
        return
    others = sorted(path.name for path in folder.iterdir() if path.name not in allowed and not _is_left_over(path.name))
    if others:
        raise AlloyError(
            expected="an empty or new folder, or what an earlier run of this command has written, as `output`",
            got=f"'{folder}' with other files ('{others[0]}'"
            + (f" and {len(others) - 1} more)" if others[1:] else ")"),
            hint="Choose another output; alloykit never mixes its files with yours.",
        )


def _is_left_over(name: str) -> bool:
    return name.startswith((LOCK_FILES, REMOVED)) or is_left_over(name)


def check_removable(folder: Path, names: Sequence[str]) -> None:
    """AlloyError if one of these names in the output folder cannot be alloykit's: a link, or a file instead of a folder or the reverse.

    A name with a "." is a file's. A name may be a path in the folder; then a link in this path counts too.
    """
    for name in names:
        path, kind = folder / name, "a file" if "." in name else "a folder"
        places = (path, *path.parents[: len(Path(name).parts) - 1])
        if link := next((place for place in places if place.is_symlink()), None):
            got = f"a link to '{os.readlink(link)}'"
        elif not path.exists() or (path.is_file() if "." in name else path.is_dir()):
            continue
        else:
            got = "a folder" if path.is_dir() else "something else"
        raise AlloyError(
            expected=f"{kind} that alloykit made as {path}",
            got=got,
            hint="It is not removed. Move it away, or choose another `output`, and run the same command again.",
        )


def remove(folder: Path, names: Sequence[str]) -> None:
    """Remove these files and folders from the output folder, all of them or none. AlloyError names those that cannot be removed.

    Everything is renamed first: renaming fails where removing would, and can be undone. Links are never followed.
    """
    check_removable(folder, names)
    renamed: list[tuple[Path, Path]] = []
    for name in names:
        path = folder / name
        away = path.with_name(f"{REMOVED}{path.name}")
        try:
            if not path.exists():
                continue
            _delete(away)
            if path.is_dir() and not os.access(path, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            path.rename(away)
            renamed.append((path, away))
        except OSError as error:
            for before, now in renamed:
                with suppress(OSError):
                    now.rename(before)
            raise os_error(error, path, instead=INSTEAD) from error
    for _, away in renamed:
        try:
            _delete(away)
        except OSError as error:
            raise os_error(error, away, instead=INSTEAD) from error


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
