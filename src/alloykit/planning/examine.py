"""`alloykit doctor`: check the machine, and a recipe if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.paths import user_path
from alloykit.planning.examine_machine import SCARCE, examine_machine
from alloykit.planning.examine_recipe import examine_questions, examine_recipe
from alloykit.planning.finding import Finding
from alloykit.recipe.questions import QuestionsRecipe, read_amalgamation
from alloykit.run_folder.file_names import CACHE


def examine(
    path: Path | None, overrides: Sequence[str] | None = None, *, cache: str | None, probe: bool
) -> dict[str, Any]:
    """Check the machine, and the recipe at `path` if there is one. A recipe that cannot be read is one of the errors.

    cache: where the teachers' outputs are kept, if not in the run folder. probe: measure a few batches, to predict the time.

    Returns `checks` (name, found, level and hint of each), `can_run` (whether none of them is an error), and `seconds`, the predicted time
    of a run or None.
    """
    if path is None and (overrides or cache is not None):
        given = "--override" if overrides else "--cache"
        raise AlloyError(expected=f"a recipe, for {given}", got="none", hint="`alloykit doctor recipe.yaml …`")
    checks: list[Finding] = []
    plan: dict[str, Any] | None = None
    places = {"output": Path.cwd()}
    if path is not None:
        try:
            recipe = read_amalgamation(path, overrides)
        except AlloyError as error:
            checks.append(Finding.of_error("recipe", error))
        else:
            output = Path(recipe.output)
            places = {"output": output}
            if cache is None or "://" not in cache:
                places["teachers' outputs"] = user_path(cache) if cache else output / CACHE
            found, plan = (
                examine_questions(recipe, probe=probe)
                if isinstance(recipe, QuestionsRecipe)
                else examine_recipe(recipe, probe=probe)
            )
            checks += found
    wanted = max(SCARCE, 2 * (plan or {}).get("cache_bytes", 0))
    checks = [*examine_machine(places, wanted), *checks]
    seconds = (plan or {}).get("seconds")
    return {
        "checks": [check.values() for check in checks],
        "can_run": not any(check.level == "error" for check in checks),
        "seconds": sum(seconds.values()) if seconds else None,
    }
