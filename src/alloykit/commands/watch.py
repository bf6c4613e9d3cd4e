"""Compare new texts with a run's pool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from alloykit.data import TextsOptions
from alloykit.errors import AlloyError
from alloykit.files import write_output
from alloykit.finished_runs.watch_texts import watch_texts
from alloykit.paths import user_path
from alloykit.run_folder.output_folder import check_file
from alloykit.run_folder.run_folder import RunFolder, files_to_keep, folder_of

PAGE = "watch.html"


class Columns(TypedDict):
    text: str
    text_pair: str | None


def watch(
    run: str | Path | RunFolder,
    texts: str | Path | TextsOptions | Sequence[Any],
    *,
    text: str = "text",
    text_pair: str | None = None,
    output: str | Path | None = None,
    trust_remote_code: bool = False,
) -> dict[str, Any]:
    """How new texts differ from a run's pool, by the student's answers. The same as `alloykit watch`, from Python.

    run: a finished run or its folder. texts: a file, a folder, a hub id, a list of strings, or a recipe's `texts:` block. text, text_pair:
    their columns. output: the page; watch.html in the run folder if not given. trust_remote_code: run code that comes with the student.

    Returns `labels`, `confidence`, `energy`, `foreign`, `changed`, `psi` (the largest index that chance does not explain, else 0) and `page`,
    the file that was written. The page has no texts. Of a run with several questions, `questions` has this for each, and `psi` is the largest. AlloyError
    for an unfinished run, for texts that cannot be read, and for `output` with several questions.
    """
    folder = RunFolder(folder_of(run))
    if folder.questions and output is not None:
        raise AlloyError(
            expected="no `--output` for a run with several questions: each has a page of its own",
            got=f"'{output}'",
            hint="The pages are in the folders of the questions.",
        )
    columns: Columns = {"text": text, "text_pair": text_pair}
    parts = {
        name: _watch(part, texts, part.folder / PAGE, columns, trust_remote_code, questions=len(folder.questions))
        for name, part in folder.questions.items()
    }
    if parts:
        return {"questions": parts, "psi": max(part["psi"] for part in parts.values())}
    page = folder.folder / PAGE if output is None else user_path(output)
    return _watch(folder, texts, page, columns, trust_remote_code)


def _watch(
    run: RunFolder, texts: Any, page: Path, columns: Columns, trust_remote_code: bool, questions: int = 1
) -> dict[str, Any]:
    """The comparison of a run with one question, and its page."""
    from alloykit.reporting.drift_page import render_drift

    check_file(page, [*(texts.paths if isinstance(texts, TextsOptions) else [texts]), *files_to_keep(run.folder)])
    found = watch_texts(run, texts, **columns, trust_remote_code=trust_remote_code, questions=questions)
    write_output(page, render_drift(found))
    return found | {"page": str(page)}
