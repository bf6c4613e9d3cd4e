"""Where an updated run is written."""

from __future__ import annotations

import re
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.paths import user_path
from alloykit.run_folder.run_folder import RunFolder


def folder_of_update(run: RunFolder, output: str | Path | None) -> Path:
    """The new folder; `next_folder` of the run without `output`. AlloyError for the run's own."""
    folder = user_path(output) if output is not None else next_folder(run.folder)
    if folder.resolve() == run.folder.resolve():
        raise AlloyError(
            expected="another folder for the updated run",
            got=f"the run's own, '{folder}'",
            hint=f"For instance `--output {next_folder(run.folder)}`.",
        )
    return folder


def next_folder(folder: Path) -> Path:
    """The default folder of an update: runs/tickets-2 for runs/tickets, runs/tickets-3 for runs/tickets-2."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    counted = re.fullmatch(r"(.+)-(\d{1,6})", named.name)
    return named.with_name(f"{counted[1]}-{int(counted[2]) + 1}" if counted else f"{named.name}-2")
