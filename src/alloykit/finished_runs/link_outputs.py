"""Give a run the teachers' outputs of an earlier one, so that it computes only what is missing."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from alloykit.file_errors import file_errors
from alloykit.files import is_left_over, link_file
from alloykit.progress import warn_line
from alloykit.run_folder.file_names import CACHE, STATES
from alloykit.run_folder.output_folder import LOCK_FILES


def link_outputs(earlier: Path, run: Path, teachers: Collection[str]) -> None:
    """Link the outputs of these teachers, and the states of the pool, from an earlier run folder into a new one. Warns if that folder has no
    cached outputs.

    The links are hard links, which take no space; on another file system they are copies. Both runs replace files and never change them in
    place, so neither run can change the other. Files that are there already stay. A receipt comes after its file: a killed process goes on.
    What is a symbolic link in the earlier run is left out: a copy of the file behind it could be a private file, and `push --with-cache` would upload it.
    """
    store = earlier / CACHE
    if not store.is_dir():
        warn_line(f"no cached outputs in {earlier}: every teacher reads every text. --cache names another place")
        return
    with file_errors(store):
        files = [path for path in store.rglob("*") if _is_own(path) and _belongs(path.relative_to(store), teachers)]
        files += [path for path in [earlier / STATES] if _is_own(path)]
    for path in sorted(files, key=lambda path: (path.suffix == ".json", path)):
        target = run / path.relative_to(earlier)
        if not os.path.lexists(target):
            link_file(path, target)


def _is_own(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _belongs(name: Path, teachers: Collection[str]) -> bool:
    """Whether a file of the store is one of its own, and not of another teacher."""
    own = not (is_left_over(name.name) or name.name.startswith(LOCK_FILES) or name.suffix == ".log")
    return own and (name.parts[0] != "teachers" or name.parts[1] in teachers)
