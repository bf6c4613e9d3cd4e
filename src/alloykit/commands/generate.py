"""Teachers and a language model in, texts for every class of every teacher out. Killed and started again, it goes on."""

from __future__ import annotations

from pathlib import Path

from alloykit.models.device import pick_device
from alloykit.recipe.models import GenerateRecipe
from alloykit.stages.generated_texts import write_texts


def generate(recipe: GenerateRecipe) -> Path:
    """Write `texts.parquet` (text, label, teacher, confidence, predicted, perplexity) and return it. AlloyError."""
    return write_texts(
        recipe.teachers, recipe.labels, recipe.generation, Path(recipe.output),
        device=pick_device(recipe.device), max_length=recipe.max_length,
    )  # fmt: skip
