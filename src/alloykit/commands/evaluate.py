"""Test teachers, ensemble, routing and student on labelled texts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from alloykit.data import TextsOptions
from alloykit.run_files import RECIPE
from alloykit.stages.evaluate_folder import evaluate_model_folder, evaluate_run_folder
from alloykit.stages.lock import locked
from alloykit.stages.run_folder import Run, folder_of


def evaluate(
    folder: str | Path | Run,
    data: str | Path | TextsOptions | None = None,
    *,
    cache: str | Path | None = None,
    trust_remote_code: bool = False,
    **columns: Any,
) -> dict[str, Any]:
    """The `evaluate` command: a run, its folder (data: the recipe's, unless given) or a model folder (data needed).

    A run's metrics.json is brought up to date; for a model folder the result is only returned. trust_remote_code: run the code
    that models of the run bring with them. The run's own recipe cannot grant that: the folder may be a stranger's.
    """
    folder = folder_of(folder)
    if not os.path.exists(folder / RECIPE):  # also of a name that no path can have
        return evaluate_model_folder(folder, data, trust_remote_code, **columns)
    with locked(folder):
        return evaluate_run_folder(Run(folder), data, cache, trust_remote_code, **columns)
