"""Make the notebooks of the examples: run each script cell by cell, and write the cells with what they print.

    python examples/notebooks.py                        # all of them
    python examples/notebooks.py merge_two_classifiers  # one

A script has cells in the percent format: `# %%` begins code, and `# %% [markdown]` begins text in comments. Messages on standard error are left out.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = ("merge_two_classifiers", "add_a_teacher", "no_data", "llm_labels", "serve_and_watch")
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Cell:
    """`kind`: code or markdown. `source`: of markdown, without the comment signs."""

    kind: str
    source: str


def cells(script: str) -> list[Cell]:
    """The cells of a script. Lines before the first `# %%` are none."""
    found: list[Cell] = []
    for part in ("\n" + script).split("\n# %%")[1:]:
        first, _, rest = part.partition("\n")
        lines = rest.strip("\n").split("\n")
        if "[markdown]" in first:
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        found.append(Cell("markdown" if "[markdown]" in first else "code", "\n".join(lines)))
    return found


def run_cell(source: str, where: str, names: dict[str, Any]) -> str:
    """Run the code, and return what it printed. If the last line is an expression, its value is printed too."""
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
            if value is not None:
                print(repr(value))
    return out.getvalue()


def notebook(script: Path) -> dict[str, Any]:
    """Run a script, and return the notebook (format 4.5)."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found: list[dict[str, Any]] = []
    for number, cell in enumerate(cells(script.read_text(encoding="utf-8"))):
        one: dict[str, Any] = {
            "cell_type": cell.kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": _lines(cell.source),
        }
        if cell.kind == "code":
            out = run_cell(cell.source, f"{script.name}, cell {number}", names)
            outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(out)}] if out else []
            one |= {"execution_count": 1 + sum(c["cell_type"] == "code" for c in found), "outputs": outputs}
        found.append(one)
    return {"cells": found, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(chosen: list[str]) -> None:
    if len(chosen) != 1:  # a process for each, so that none sees what another imported
        for name in chosen or NAMES:
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    os.chdir(HERE)
    script = HERE / f"{chosen[0]}.py"
    content = json.dumps(notebook(script), indent=1, ensure_ascii=False) + "\n"
    for place in (str(HERE.parent), str(Path.home())):
        if len(place) > 1 and place in content:
            raise SystemExit(f"{script.name} prints the path of this machine {place}: print less")
    script.with_suffix(".ipynb").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
