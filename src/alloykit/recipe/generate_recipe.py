"""The recipe that writes texts."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from alloykit.blocks import Device, FolderText
from alloykit.engines.engine_options import EngineOptions
from alloykit.generation.generation_options import GenerationOptions
from alloykit.recipe.recipe_blocks import EngineBlock, LabelOptions, RecipeBlock
from alloykit.teachers.kinds import AnyTeacher


class GenerateRecipe(RecipeBlock):
    """For `generate`: texts for every label of every teacher, from a language model."""

    kind: ClassVar[str] = "generate"
    teachers: list[AnyTeacher] = Field(min_length=1)
    """The teachers that steer the language model: folders or hub ids of classifiers, or blocks of other kinds of teachers."""
    generation: GenerationOptions
    """How texts are written."""
    labels: LabelOptions = LabelOptions()
    """How labels of different teachers are joined."""
    max_length: int = Field(128, gt=1)
    """Tokens of a text that a teacher reads. Longer texts are cut."""
    engine: EngineBlock = EngineOptions()
    """What writes the texts: this process, or the workers of a Ray cluster."""
    device: Device = "auto"
    """Where models run. auto: the GPU if there is one, else the CPU."""
    output: FolderText
    """The folder that gets the texts."""
