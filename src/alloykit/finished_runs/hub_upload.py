"""Upload files to a repository of the hub, as one commit. Its errors are messages in the user's terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.finished_runs.upload_files import Upload
from alloykit.models.location import SECONDS, quiet_hub


def check_repository_name(repository: str) -> None:
    """AlloyError for anything but owner/name."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repository)
        valid = repository.count("/") == 1 and repository.isascii()
    except HFValidationError:
        valid = False
    if not valid:
        raise AlloyError(
            expected="a repository of the hub as owner/name",
            got=repr(repository[:200]),
            hint="The owner is your user name or an organisation, as in `alloykit push runs/tickets my-team/tickets`.",
        )


def upload(
    files: Sequence[Upload], repository: str, *, branch: str | None, private: bool | None, message: str
) -> dict[str, Any]:
    """Create the repository and the branch if they do not exist, and add the files in one commit.

    The commit comes last: a run that was killed before it has changed nothing on the hub, and the next one sends only large files that
    did not arrive. Files of an earlier upload that would contradict the new ones (`onnx/`, weights) are removed in the same commit.
    private: True creates a private repository, and refuses an existing public one. Returns `url`, `commit` and `created`. AlloyError.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    hub = HfApi(library_name="alloykit")
    with quiet_hub():
        try:
            if get_token() is None:
                raise AlloyError(
                    expected="a token of the hub that may write",
                    got="none",
                    hint="Make one on the hub, under Settings, Access Tokens. Then run `hf auth login`, or set HF_TOKEN.",
                )
            try:
                there = hub.model_info(repository, timeout=SECONDS)
            except RepositoryNotFoundError:
                there = None
            if there is not None and private and not there.private:
                raise AlloyError(
                    expected=f"a private repository '{repository}', as --private says",
                    got="a public one, which exists already",
                    hint="Make it private in its settings on the hub, choose another name, or leave out --private.",
                )
            if there is None:
                hub.create_repo(repository, private=private, exist_ok=True)
            if branch is not None:
                try:
                    there = hub.model_info(repository, revision=branch, timeout=SECONDS)
                except RevisionNotFoundError:
                    hub.create_branch(repository, branch=branch, exist_ok=True)
            old = [s.rfilename for s in (there.siblings or [] if there is not None else [])]
            operations: list[Any] = [
                CommitOperationAdd(f.path, str(f.content) if isinstance(f.content, Path) else f.content) for f in files
            ]
            operations += [CommitOperationDelete(path) for path in _stale(old, {f.path for f in files})]
            commit = hub.create_commit(repository, operations, commit_message=message, revision=branch)
        except AlloyError:
            raise
        except Exception as error:  # many types: of the hub, of its HTTP client, of the network
            raise _error(repository, error) from error
    return {"url": f"{hub.endpoint}/{repository}", "commit": commit.oid, "created": there is None}


def _stale(old: Sequence[str], new: set[str]) -> list[str]:
    """Files on the hub that belong to an earlier student: other formats and parts of its weights."""
    return [
        path
        for path in old
        if path not in new and (path.startswith("onnx/") or ("/" not in path and ".safetensors" in path))
    ]


def _error(repository: str, error: Exception) -> AlloyError:
    owner = repository.split("/")[0]
    cause: BaseException | None = error
    while cause is not None and getattr(cause, "response", None) is None and cause.__cause__ is not None:
        cause = cause.__cause__  # the client wraps errors of single files
    status = getattr(getattr(cause, "response", None), "status_code", None)
    kind, hint = type(cause).__name__, "Run the same command again: nothing was changed on the hub."
    if kind == "OfflineModeIsEnabled":
        got, hint = "the hub may not be asked (HF_HUB_OFFLINE)", "Unset HF_HUB_OFFLINE."
    elif status == 401:
        got = "the hub does not accept the token (error 401)"
        hint = "It may be mistyped or expired. Run `hf auth login` again, or set another HF_TOKEN."
    elif status == 403:
        got = f"the token may not write to the repositories of '{owner}' (error 403)"
        hint = f"Use a token with the right to write, of a member of '{owner}', or push to your own name."
    elif status == 404:
        got = "the hub has no such repository that the token may see (error 404)"
        hint = "It may belong to somebody else and be private. Choose another name, or another token."
    elif status == 409:
        got, hint = "somebody else is changing it (error 409)", "Run the same command again."
    elif isinstance(error, ValueError) and "metadata" in str(error):
        lines = [line.strip("- ") for line in str(error).splitlines()[1:]]
        got = f"the hub refuses the card's metadata: {'; '.join(lines) or error}"
        hint = "Choose valid values with --license and --language."
    elif status is not None:
        got = f"the hub answered with the error {status}"
    elif isinstance(cause, (ValueError, TypeError, LookupError, AttributeError)):
        got = f"an answer of the hub that cannot be read ({kind})"
        hint = f"Check HF_ENDPOINT, and whether a proxy answers in its place. {hint}"
    else:
        got = f"the hub cannot be reached ({kind})"
        hint = f"Check your network and HF_ENDPOINT. {hint}"
    return AlloyError(expected=f"to push to '{repository}'", got=got, hint=hint)
