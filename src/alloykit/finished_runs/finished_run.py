"""What commands check before they use a finished run: it is finished, its fit can be read, its teachers are the same, no strange code runs, and
no strange service gets texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.knowledge.store.artifacts import read_tensors, refuse, what_differs
from alloykit.recipe.recipe import Recipe, StudentRecipe
from alloykit.run_folder.file_names import INPUTS, STATE
from alloykit.stages.inputs import teachers_of
from alloykit.stages.prepared import Prepared


def fitted_state(folder: Path) -> dict[str, Tensor]:
    """The state of the run's fit. AlloyError if it is missing or damaged."""
    path = folder / STATE
    try:
        found = read_tensors(path)
    except SafetensorError as error:
        raise AlloyError(
            expected=f"a whole file {path}",
            got=f"'{error}'",
            hint="Delete it and run `alloykit amalgamate` again.",
        ) from error
    if found is None:
        raise unfinished_run(folder)
    return found[1]


def refuse_changed_teachers(folder: Path, prepared: Prepared, *, hint: str = "Put them back.") -> None:
    """AlloyError if the teachers are not those that the run was made with."""
    refuse(
        what_differs(folder / INPUTS, {"teachers": teachers_of(prepared)}),
        expected=f"the teachers that {folder} was made with",
        hint=hint,
    )


def unfinished_run(folder: Path) -> AlloyError:
    """The error for a run that was stopped early."""
    return AlloyError(
        expected=f"a finished run in {folder}",
        got="one that was stopped early",
        hint="Run `alloykit amalgamate` first.",
    )


def refuse_code(recipe: StudentRecipe, path: Path) -> None:
    """AlloyError if a model of the run has code of its own, wherever the recipe names it. path: the recipe, for the message."""
    if trusted := [
        f"`{where}` ('{visible(model)[:200]}')" for where, model in _trusted(recipe.model_dump(mode="json"))
    ]:
        raise AlloyError(
            expected="a run whose models need no code of their own",
            got=f"`trust_remote_code: true` for {', '.join(trusted)} in {path}",
            hint="If you have read and trust that code, add --trust-remote-code.",
        )


def _trusted(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """The blocks inside a value that have `trust_remote_code: true`: key and model. Every block is looked at, so that a new one is not forgotten."""
    if isinstance(value, dict):
        if value.get("trust_remote_code") is True:
            yield where, str(value.get("model"))
        inside = [(str(key), inner) for key, inner in value.items()]
    else:
        inside = [(str(i), inner) for i, inner in enumerate(value)] if isinstance(value, list) else []
    for key, inner in inside:
        yield from _trusted(inner, f"{where}.{key}" if where else key)


def refuse_services(recipe: Recipe, path: Path) -> None:
    """AlloyError if a teacher of the run is a service: the recipe of a finished run may be somebody else's, and says where texts and keys go."""
    found = [
        f"`teachers.{i}` asks {visible(spec.service)[:200]}"
        for i, spec in enumerate(recipe.teachers)
        if spec.service is not None
    ]
    if found:
        raise AlloyError(
            expected="a run whose teachers are on this machine",
            got=f"{'; '.join(found)} in {path}",
            hint="If these services may get your texts and keys, add --trust-url (in Python: trust_url=True).",
        )


def refuse_cluster(recipe: Recipe, path: Path) -> None:
    """AlloyError if the run names the address of a cluster: it may be somebody else's, would get the texts, and what it answers can run code here."""
    engine = recipe.engine
    if engine.name != "local" and engine.address not in (None, "auto", "local"):
        raise AlloyError(
            expected="a run that computes on this machine, or on the cluster in RAY_ADDRESS",
            got=f"`engine: {{address: {visible(engine.address)[:200]}}}` in {path}",
            hint="If that cluster may get your texts and run code here, add --trust-url (in Python: trust_url=True).",
        )
