"""Push a student to the hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alloykit.finished_runs.push_run import push_run
from alloykit.names import refuse_single
from alloykit.run_folder.run_folder import RunFolder, folder_of


def push(
    run: str | Path | RunFolder,
    repository: str,
    *,
    private: bool | None = None,
    branch: str | None = None,
    license: str | None = None,
    languages: Sequence[str] = (),
    with_cache: bool = False,
    with_texts: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Upload a run's student, its card, and its ONNX files if it was exported, to the hub. The same as `alloykit push`, from Python.

    run: a run or its folder. repository: owner/name; it is created if it does not exist. private: True for a private repository; a new one is
    otherwise as its owner's settings say. branch: a branch, which is created if it does not exist; the main one if not given. license,
    languages: metadata of the card, such as apache-2.0 and ["en"]; if not given, what the teachers' own cards state. with_cache: also upload
    the teachers' outputs. with_texts: also upload the texts of the pool. dry_run: only list the files, and upload nothing.

    Returns `repository`, `branch`, `files` (path and bytes of each), `bytes`, and after an upload `url`, `commit` and `created`. AlloyError for
    a folder without a finished run, without a token, and if the hub refuses.
    """
    refuse_single(languages, "languages")
    return push_run(
        RunFolder(folder_of(run)), repository, private=private, branch=branch, licence=license, languages=languages,
        with_cache=with_cache, with_texts=with_texts, dry_run=dry_run,
    )  # fmt: skip
