"""The base class of a recipe's blocks, with limits for all values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from alloykit.names import shown
from alloykit.paths import user_path

MAX_INTEGER = 2**32 - 1  # the largest seed of numpy
# Far beyond sensible values of any option. Their products and quotients are still finite.
MAX_FLOAT, MIN_FLOAT = 1e9, 1e-15
MAX_CHARACTERS = 20_000  # of a string

Seed = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""A seed that Python, numpy and torch all accept."""


def _possible_path(value: str) -> str:
    if not value.strip():
        raise ValueError("give a name or a path, not an empty one")
    data = value.encode("utf-8", "surrogatepass")
    if len(data) > 4095 or any(len(part) > 255 for part in data.split(b"/")):
        raise ValueError("give a path that a file system can hold: at most 255 bytes in each part, 4,095 in all")
    return value


PathText = Annotated[str, AfterValidator(_possible_path)]
"""A path or the id of a model: not empty, and not longer than a path can be."""

FolderText = Annotated[PathText, AfterValidator(lambda value: str(user_path(value)))]
"""The path of a folder on this machine. A `~` at its beginning is replaced when the recipe is read; other paths keep it, and their readers replace it."""

Device = Literal["auto", "cpu", "cuda", "mps"]
"""Where models run; auto: the accelerator if there is one, else the CPU."""


class Block(BaseModel):
    """A block of a recipe: it is frozen, unknown keys are errors, and its numbers and strings are within limits."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    without_effect: ClassVar[tuple[str, ...]] = ()
    """Keys that change no result. A run goes on if only they were changed."""

    @field_validator("*", mode="after")
    @classmethod
    def _within_limits(cls, value: Any) -> Any:
        _check(value)
        return value


def effective(block: BaseModel) -> dict[str, Any]:
    """The block as plain values of JSON, without the keys that change no result, at any depth."""
    return block.model_dump(mode="json", exclude=_without_effect(block))


def _without_effect(value: Any) -> dict[Any, Any]:
    """The `exclude` of pydantic's `model_dump`: for a key or a position True, or what to leave out inside it."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, BaseModel):
        parts = value
    elif isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    inside = {key: left_out for key, part in parts if (left_out := _without_effect(part))}
    return inside | dict.fromkeys(value.without_effect if isinstance(value, Block) else (), True)


def _check(value: Any) -> None:
    """ValueError for a number or a string, also inside lists and mappings, that other libraries could not process."""
    if isinstance(value, bool | BaseModel):
        return  # a block checks itself
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise ValueError(f"give a whole number of at most {MAX_INTEGER:,}")
    if isinstance(value, float) and not (value == 0 or MIN_FLOAT <= abs(value) <= MAX_FLOAT):
        raise ValueError(f"give 0 or a number between {MIN_FLOAT:g} and {MAX_FLOAT:g}, instead of {value:g}")
    if isinstance(value, str):
        _check_string(value)
    if isinstance(value, list | tuple):
        for item in value:
            _check(item)
    if isinstance(value, dict):
        for item in (*value, *value.values()):
            _check(item)


def _check_string(value: str) -> None:
    if len(value) > MAX_CHARACTERS:
        raise ValueError(f"give at most {MAX_CHARACTERS:,} characters, instead of {len(value):,}")
    if "\0" in value:
        raise ValueError("give text without NUL characters")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"give valid Unicode text: there is half of a surrogate pair at {error.start}") from error


class ModelSpec(Block):
    """A model of transformers; a plain string stands for `{model: …}`."""

    model: PathText
    """A folder or a hub id."""
    revision: str | None = None
    """Commit, tag or branch on the hub; the newest commit if not given. The run folder's recipe has the commit."""
    trust_remote_code: bool = False
    """Run code that comes with the model. Set it only if you have read that code."""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        if isinstance(value, (str, Path)):
            return {"model": str(value)}
        if not isinstance(value, (Mapping, ModelSpec)):
            raise ValueError(f"give a folder, a hub id or a block such as {{model: FOLDER}}, instead of {shown(value)}")
        return value
