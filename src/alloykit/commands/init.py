"""Write a first recipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alloykit.files import write_output
from alloykit.planning.first_recipe import first_recipe
from alloykit.run_folder.output_folder import check_new_file


def init(
    teachers: Sequence[str], texts: str, *, output: Path, method: str | None = None, overwrite: bool = False
) -> Path:
    """Write a recipe with comments for these teachers and texts. It is what `alloykit init` does.

    teachers: folders or hub ids; no weights are loaded. texts: a file, a folder or a hub id. output: the file to write. method: a
    method's name; the recipe's default if not given. overwrite: replace that file.

    Returns `output`. AlloyError for a file that is there already, and for wrong teachers, texts and methods.
    """
    check_new_file(output, overwrite=overwrite, inputs=[texts, *teachers])
    write_output(output, first_recipe(teachers, texts, method))
    return output
