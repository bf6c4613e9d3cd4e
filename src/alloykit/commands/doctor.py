"""Check the machine and a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.paths import user_path
from alloykit.planning.examine import examine
from alloykit.teachers.trust import python_trusted


def doctor(
    recipe: str | Path | None = None,
    *,
    cache: str | Path | None = None,
    probe: bool = True,
    trust_python: bool = False,
) -> dict[str, Any]:
    """Check this machine, and the teachers and texts of a recipe. The same as `alloykit doctor`, from Python. Writes nothing.

    recipe: a recipe file; without it, only the machine is checked. cache: where the teachers' outputs will be, if not in the run folder.
    probe: let every model read a few batches, to predict the time. trust_python: import the functions that `python:` entries of
    `teachers` name.

    Returns `checks` (a list with `name`, `found`, `level` and `hint` of each; level is ok, note or error), `can_run` (whether there is no
    error), and `seconds`, the predicted time of a run or None.
    """
    with python_trusted(trust_python):
        return examine(
            user_path(recipe) if recipe is not None else None, cache=None if cache is None else str(cache), probe=probe
        )
