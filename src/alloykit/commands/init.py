"""Write a first recipe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.files import is_stream, write_output
from alloykit.planning.first_recipe import first_recipe
from alloykit.run_folder.output_folder import check_file


def init(
    teachers: Sequence[str], texts: str, *, output: Path, method: str | None = None, overwrite: bool = False
) -> Path:
    """Write a recipe with comments for these teachers and texts. It is what `alloykit init` does.

    teachers: folders or hub ids; no weights are loaded. texts: a file, a folder or a hub id. output: the file to write. method: a
    method's name; the recipe's default if not given. overwrite: replace that file.

    Returns `output`. AlloyError for a file that is there already, and for wrong teachers, texts and methods.
    """
    check_file(output)
    if os.path.lexists(output) and not is_stream(output) and not overwrite:
        raise AlloyError(
            expected="a new file as `--output`",
            got=f"'{output}', which exists",
            hint="Choose another name, or replace it with `--overwrite`.",
        )
    write_output(output, first_recipe(teachers, texts, method))
    return output
