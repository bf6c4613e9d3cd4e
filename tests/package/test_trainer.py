"""transformers' Trainer has one home: whoever replaces it changes one module."""

from __future__ import annotations

import ast
from pathlib import Path

from sources import parsed

import alloykit

SOURCE = Path(alloykit.__file__).parent


def names_the_trainer(tree: ast.AST) -> bool:
    """`from transformers… import Trainer`, or `transformers.Trainer`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("transformers"):
            if any(alias.name in ("Trainer", "*") for alias in node.names):
                return True
        elif isinstance(node, ast.Attribute) and node.attr == "Trainer":
            return True
    return False


def test_one_module_imports_the_trainer() -> None:
    found = [p for p in SOURCE.rglob("*.py") if names_the_trainer(parsed(p))]
    assert [str(p.relative_to(SOURCE)) for p in found] == ["training/phase_trainer.py"]
