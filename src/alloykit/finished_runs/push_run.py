"""Push the student of a run to the hub."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from alloykit.errors import AlloyError
from alloykit.finished_runs.hub_upload import check_repository_name, upload
from alloykit.finished_runs.upload_files import upload_files
from alloykit.names import counted, quoted
from alloykit.progress import log_line
from alloykit.reporting.card import IDENTIFIER, LANGUAGE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder, require_run_folder


def push_run(
    run: RunFolder,
    repository: str,
    *,
    private: bool | None,
    branch: str | None,
    licence: str | None,
    languages: Sequence[str],
    with_cache: bool,
    with_texts: bool,
    dry_run: bool,
) -> dict[str, Any]:
    """Upload student, card and ONNX export of a run in one commit. Arguments and result are those of `commands/push.py: push`.

    AlloyError if the run, a name or the hub does not allow it.
    """
    require_run_folder(run.folder)
    check_repository_name(repository)
    if licence is not None and not IDENTIFIER.fullmatch(licence):
        raise AlloyError(expected="a licence as the hub names it, such as apache-2.0", got=repr(licence))
    if wrong := [code for code in languages if not LANGUAGE.fullmatch(code)]:
        raise AlloyError(
            expected="languages as codes of two or three letters, such as en",
            got=quoted(wrong),
            hint="Repeat --language for each of them.",
        )
    with nullcontext() if dry_run else locked(run.folder):
        files = upload_files(
            run, repository, licence=licence, languages=languages, with_cache=with_cache, with_texts=with_texts
        )
        size = sum(file.size for file in files)
        listed = [{"path": file.path, "bytes": file.size} for file in files]
        about = {"repository": repository, "branch": branch, "files": listed, "bytes": size}
        if dry_run:
            return about
        log_line(f"uploading {counted(len(files), 'file')}, {size / 1e6:,.1f} MB, to '{repository}'")
        message = f"Student of {run.folder.resolve().name}, by alloykit"
        return about | upload(files, repository, branch=branch, private=private, message=message)
