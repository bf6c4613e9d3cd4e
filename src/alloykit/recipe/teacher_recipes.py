"""The recipes that train teachers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from alloykit.blocks import Device, FolderText, PathText
from alloykit.recipe.recipe_blocks import DataBlock, RecipeBlock
from alloykit.recipe.texts_origin import TextsOrigin
from alloykit.training.training_options import StudentSpec, TrainingOptions

OWN_NAMES = ("training", "tensorboard", "run.log", "teach.yaml", "made_of.json")  # what `teach` writes into `output`


class _LabelledTexts(RecipeBlock):
    """The common keys of the recipes that train teachers."""

    data: TextsOrigin
    """Labelled texts to learn from."""
    labels: list[str] | None = None
    """Use only texts with these labels. Default: all labels of the data."""
    validation: DataBlock | None = None
    """Labelled texts to select the checkpoint with. Default: a held-out share of the data (`training.held_out`)."""
    training: TrainingOptions
    """How the teacher is trained."""
    device: Device = "auto"
    """Where models run. auto: the GPU if there is one, else the CPU."""
    output: FolderText
    """The new teacher's folder. With `--together`: the folder that gets one folder for each teacher."""

    @field_validator("training", mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        """Missing keys get the defaults of this kind of recipe, which may differ from those of `TrainingOptions`."""
        defaults = cls.model_fields["training"].default.model_dump(exclude_unset=True)
        if isinstance(value, TrainingOptions):
            value = value.model_dump(exclude_unset=True)
        return {**defaults, **value} if isinstance(value, Mapping) else value


class TeachRecipe(_LabelledTexts):
    """For `teach`: a teacher from an encoder and labelled texts."""

    kind: ClassVar[str] = "teach"
    model: StudentSpec
    """The encoder to fine-tune."""
    training: TrainingOptions = TrainingOptions(select="labelled")
    """How the teacher is trained."""


class TogetherRecipe(_LabelledTexts):
    """For `teach --together`: several teachers, fine-tuned under one shared head."""

    kind: ClassVar[str] = "together"
    models: list[StudentSpec] = Field(min_length=2)
    """The encoders to fine-tune."""
    names: list[PathText] | None = None
    """Names of the folders under `output`, one per model. Default: the last part of each model's path."""
    width: int | None = Field(None, gt=0)
    """Width of the shared head. Default: the width of the widest encoder. Encoders with another width get a linear layer."""
    training: TrainingOptions = TrainingOptions()
    """How they are trained."""

    @model_validator(mode="after")
    def _check(self) -> TogetherRecipe:
        if self.training.select == "labelled":
            raise ValueError(
                "training.select: 'labelled' is for one model; here the checkpoint is selected by the loss of all models. Leave it out"
            )
        if any(spec.head == "pooled" for spec in self.models):
            raise ValueError("models: leave `head` out; all get one pooled head together")
        if len(set(self.model_names)) != len(self.models):
            raise ValueError("names: give one different name for each model")
        if any(Path(name).name != name or name in ("", ".", "..") for name in self.model_names):
            raise ValueError("names: give plain folder names")
        if own := [name for name in self.model_names if name in OWN_NAMES or name.startswith(".")]:
            raise ValueError(f"names: `teach` has files of its own under '{own[0]}'; give another name")
        return self

    @property
    def model_names(self) -> list[str]:
        return self.names or [Path(spec.model).name.replace(":", "-") for spec in self.models]
