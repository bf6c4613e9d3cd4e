"""Write the texts that student and teachers are least confident about, for a person to label."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from alloykit.files import write_output
from alloykit.finished_runs.suggest_texts import Suggestion, suggest_texts
from alloykit.paths import user_path
from alloykit.run_folder.output_folder import check_file, check_new_file
from alloykit.run_folder.run_folder import RunFolder, files_to_keep, folder_of
from alloykit.stages.recipe_texts import paths_of
from alloykit.teachers.trust import python_trusted


def suggest(
    run: str | Path | RunFolder,
    n: int = 100,
    *,
    output: str | Path | None = None,
    cache: str | Path | None = None,
    trust_remote_code: bool = False,
    trust_python: bool = False,
    overwrite: bool = False,
) -> list[Suggestion]:
    """The n texts of a run's pool that student and teachers are least confident about. The same as `alloykit suggest`, from Python.

    run: a finished run or its folder. output: also write them to this CSV file, with a column `label` to fill in. cache: where the
    teachers' outputs are, if not in the run folder. trust_remote_code: run code that comes with the models of the run. trust_python: import the
    functions that its recipe names as teachers; they are not called. overwrite: replace the file. The same run gives the same texts. Returns
    `text`, `text_pair`, `suggested`, `probability` and `why` of each. AlloyError for n below 1, an unfinished run, a run
    without a student, a method that cannot use a few labelled texts, and a file that exists already, without `overwrite`.
    """
    path, folder = None if output is None else user_path(output), RunFolder(folder_of(run))
    if path is not None:
        check_new_file(path, overwrite=overwrite, loses=" and may have labels in it")
        check_file(path, [*paths_of(folder.recipe), *files_to_keep(folder.folder)])
    with python_trusted(trust_python):
        found = suggest_texts(folder, n, cache=cache, trust_remote_code=trust_remote_code)
    if path is not None:
        write_output(path, _as_csv(found))
    return found


def _as_csv(suggestions: list[Suggestion]) -> str:
    pair = any(s.text_pair is not None for s in suggestions)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["text", *(["text_pair"] if pair else []), "label", "suggested", "probability", "why"])
    for s in suggestions:
        writer.writerow(
            [s.text, *([s.text_pair or ""] if pair else []), s.label, s.suggested, f"{s.probability:.4f}", s.why]
        )
    return out.getvalue()
