"""Teachers and a language model in, texts for every class of every teacher out."""

from __future__ import annotations

from pathlib import Path

from alloykit.blocks import Device
from alloykit.generation.generation_options import GenerationOptions
from alloykit.recipe.generate_recipe import GenerateRecipe
from alloykit.recipe.typed import GenerationDict
from alloykit.stages.from_arguments import Engine, Labels, Teachers, from_python
from alloykit.stages.generated_texts import generate_recipe
from alloykit.teachers.trust import python_trusted


def generate(
    teachers: Teachers,
    generation: GenerationOptions | GenerationDict,
    *,
    output: str | Path,
    labels: Labels = None,
    max_length: int = 128,
    engine: Engine = None,
    device: Device = "auto",
    trust_python: bool = False,
) -> Path:
    """Write texts for every class of every teacher with a language model. The same as `alloykit generate`, from Python.

    teachers: folders or hub ids, or dictionaries as in the recipe. generation: the recipe's block of this name; it needs
    `language_model`. labels: how labels are joined. max_length: tokens of a text that a teacher reads.
    engine: who writes the texts, a name or the recipe's block. output: a folder.
    trust_python: import the functions that `python:` entries of `teachers` name.

    Returns the file `texts.parquet` (text, label, teacher, confidence, predicted, perplexity). A second call goes on where the
    first one stopped. AlloyError for invalid arguments.
    """
    with python_trusted(trust_python):
        recipe, _ = from_python(
            GenerateRecipe, teachers=teachers, generation=generation, output=output, labels=labels, max_length=max_length,
            engine=engine, device=device,
        )  # fmt: skip
        return generate_recipe(recipe)
