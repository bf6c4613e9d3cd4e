"""The files of a model folder: those that may be read, and whether they are whole files of that folder."""

from __future__ import annotations

from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.file_errors import check_readable
from alloykit.models.checksums import refuse_changed

SUFFIXES = {".json", ".txt", ".model", ".spm", ".codes", ".jinja", ".tiktoken", ".tokenizer", ".safetensors"}
GGUF = ".gguf"
INDEX = ".safetensors.index.json"
NONE_OF_THESE = "none_of_these.safetensors"  # beside a student's weights (serving/none_of_these_file.py)


def loadable_files(folder: Path) -> list[Path]:
    """The files of a folder that loading may read, sorted by name. Of a GGUF folder: its GGUF file."""
    if is_gguf(folder):
        return sorted(folder.glob(f"*{GGUF}"))
    return [path for path in _named_like_parts(folder) if path.is_file()]


def _named_like_parts(folder: Path) -> list[Path]:
    """By name. No hidden ones: a process that has locked the folder writes and removes some there."""
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and not path.name.startswith("."))


def is_gguf(folder: Path) -> bool:
    """Whether a folder holds GGUF files in place of a config.json."""
    return not (folder / "config.json").exists() and any(folder.glob(f"*{GGUF}"))


def is_inside(file: Path, folder: Path) -> bool:
    """Whether a file, after all links, is in a folder. In the hub's cache files are links into the folder "blobs" beside it."""
    root = folder.resolve()
    places = [root, root.parent.parent / "blobs"] if root.parent.name == "snapshots" else [root]
    return any(file.resolve().is_relative_to(place) for place in places)


def checked_files(folder: Path, model: str) -> list[Path]:
    """The files that may be read. AlloyError for a file that is not a plain file of this folder, and for an adapter."""
    found = _named_like_parts(folder)
    for file in found:
        if not file.is_file():
            got = "a broken link" if file.is_symlink() else "something else"
            raise AlloyError(expected=f"a file {file.name} in '{model}'", got=got, hint="Copy the whole folder again.")
        if not is_inside(file, folder):
            raise AlloyError(
                expected=f"a file {file.name} in '{model}'",
                got="a link to a file outside that folder",
                hint="Copy the file into the folder if you trust it.",
            )
    if any(file.name == "adapter_config.json" for file in found):
        raise AlloyError(
            expected=f"a whole model in '{model}'",
            got="an adapter (adapter_config.json)",
            hint="Merge it into its model with PEFT's merge_and_unload(), and save that with save_pretrained.",
        )
    return found


def checked_weights(folder: Path, model: str) -> list[Path]:
    """The safetensors files with a model's weights. AlloyError if there is none, or one that is not complete or has another checksum than the
    folder's SHA256SUMS names."""
    import safetensors

    found = checked_files(folder, model)
    files = [file for file in found if file.suffix == ".safetensors" and file.name != NONE_OF_THESE]
    if not files:
        raise AlloyError(
            expected=f"weights in safetensors in '{model}'",
            got="a GGUF file, which only the language model of `generation:` may be" if is_gguf(folder) else "none",
            hint="Other formats are pickled and could run code. Load the model elsewhere and save it with save_pretrained."
            if not is_gguf(folder)
            else "Load the model elsewhere and save it with save_pretrained.",
        )
    for file in files:
        check_readable(file)
        try:
            with safetensors.safe_open(file, framework="pt"):
                pass
        except (safetensors.SafetensorError, OSError, ValueError) as error:
            raise AlloyError(
                expected=f"a whole file {file.name} in '{model}'",
                got=f"'{str(error)[:200]}'",
                hint="Copy or download it again.",
            ) from error
        refuse_changed(folder, file, model)
    return files
