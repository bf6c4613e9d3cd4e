"""What the blocks of a recipe have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

Device = Literal["auto", "cpu", "cuda", "mps"]
"""Where models run; auto: the accelerator that this machine has, else the CPU."""


class Block(BaseModel):
    """A block of a recipe: unknown keys are errors, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSpec(Block):
    """A model of transformers; a plain string stands for `{model: …}`."""

    model: str
    """A folder or a hub id."""
    revision: str | None = None
    trust_remote_code: bool = False
    """Run code that comes with the model. Never without your say."""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return {"model": str(value)} if isinstance(value, (str, Path)) else value
