"""Test teachers, ensemble, routing and student on labelled texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.data import TextsOptions, columns_beside
from alloykit.errors import AlloyError
from alloykit.finished_runs.evaluate_folder import evaluate_model_folder, evaluate_run_folder
from alloykit.run_folder.run_folder import RunFolder, folder_of, is_run_folder
from alloykit.stages.from_arguments import Engine, Teachers


def evaluate(
    run: str | Path | RunFolder,
    data: str | Path | TextsOptions | None = None,
    *,
    text: str = "text",
    label: str = "label",
    text_pair: str | None = None,
    cache: str | Path | None = None,
    engine: Engine = None,
    trust_remote_code: bool = False,
    trust_python: bool = False,
    trust_url: bool = False,
    teachers: Teachers = (),
) -> dict[str, Any]:
    """Scores of teachers, ensemble, routing and student on labelled texts. The same as `alloykit evaluate`, from Python.

    run: a run or its folder, or the folder of any classifier. data: labelled texts in a file or folder; a run's recipe may name
    them already. text, label, text_pair: their columns. cache: where the teachers' outputs are kept, if not in the run folder.
    engine: what computes the teachers' outputs, a name or the recipe's block; that of the run's recipe if not given.
    trust_remote_code: run code that comes with the models of the run; its own recipe cannot grant that. trust_python: import the functions
    that its recipe names as teachers. trust_url: send texts and keys to the services that its recipe names as teachers. teachers: those of
    the run that came from Python's memory, in any order.

    Returns `texts` and `scores`. For a run they are also written to its metrics.json and its report. A run with several questions has
    `questions`, with these two for each question by name; its recipe names the columns of the labels. AlloyError if there
    is no classifier, if the texts cannot be read or have no labels, and for a teacher that is needed and cannot be loaded.
    """
    folder = folder_of(run)
    columns = columns_beside(data, text=text, label=label, text_pair=text_pair)
    if not is_run_folder(folder):
        for name, given in (("cache", cache), ("engine", engine), ("teachers", teachers or None)):
            if given is not None:
                raise AlloyError(
                    expected=f"a run folder, for `{name}`",
                    got=f"'{str(folder)[:200]}'",
                    hint="A model has no teachers.",
                )
        return evaluate_model_folder(folder, data, trust_remote_code=trust_remote_code, **columns)
    return evaluate_run_folder(
        RunFolder(folder), data, cache=cache, engine=engine, trust_remote_code=trust_remote_code,
        trust_python=trust_python, trust_url=trust_url, teachers=teachers, **columns,
    )  # fmt: skip
