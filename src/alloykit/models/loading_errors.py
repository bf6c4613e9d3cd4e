"""Any error while foreign files are read becomes one sentence for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.models.checked_config import needs_code
from alloykit.models.location import ModelLocation
from alloykit.out_of_memory import is_out_of_memory


def loading_error(error: BaseException, location: ModelLocation, *, reading: bool = False) -> AlloyError:
    """The error for a model that could not be loaded, in the user's terms. reading: it was loaded, and could not read a short text."""
    if is_out_of_memory(error):
        return AlloyError(
            expected=f"memory for the model '{location.model}'",
            got="too little",
            hint="Free some memory, take a smaller model, or check the sizes in its config.json.",
        )
    text = str(error)
    if "trust_remote_code" in text or "custom code" in text:
        return needs_code(location.model)
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    missing = isinstance(error, ImportError)
    if reading and not missing:
        return AlloyError(
            expected=f"a model '{location.model}' that reads a short text",
            got=f"{type(error).__name__}: {first[:200]}",
            hint="Check that its files belong together; `save_pretrained` of both model and tokenizer writes them. If the recipe sets a rate of "
            "`dropout`, try it without.",
        )
    return AlloyError(
        expected="a model folder (config.json, model.safetensors, tokenizer files)" if not missing else
        f"the packages that '{location.model}' needs",
        got=f"'{location.model}' ({first[:200]})",
        hint="Install what is missing." if missing else
        "Check that the folder is complete; `save_pretrained` of both model and tokenizer makes one.",
    )  # fmt: skip


@contextmanager
def loading_errors(location: ModelLocation, folder: Path | None = None, *, reading: bool = False) -> Iterator[None]:
    """Any error inside becomes an AlloyError: the files are foreign, and the libraries that read them raise many kinds of errors.

    folder: where the files are read, which messages replace by the model's name. reading: the model is loaded, and reads a short text.
    """
    try:
        yield
    except AlloyError:
        raise
    except BaseException as error:
        # Raised by the Rust code of tokenizers; it is not a Python Exception.
        panicked = type(error).__name__ == "PanicException"
        if not isinstance(error, Exception) and not panicked:
            raise
        problem = loading_error(error, location, reading=reading)
        if folder is not None:
            problem = AlloyError(
                expected=problem.expected, got=problem.got.replace(str(folder), location.model), hint=problem.hint
            )
        raise problem from error
