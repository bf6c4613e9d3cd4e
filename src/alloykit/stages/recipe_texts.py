"""The texts that a recipe names, and their labels in the union."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.data.table import BETWEEN_LABELS
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Method
from alloykit.names import alike, escaped, quoted
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.texts_origin import InMemory
from alloykit.run_folder.file_names import GENERATED

TEXTS_FILE = "texts.parquet"  # the generated texts, in their folder


def origin_of(recipe: Recipe) -> TextsOptions | InMemory:
    """The origin of the recipe's texts. AlloyError for texts that are not generated yet."""
    if not isinstance(recipe.texts, str):
        return recipe.texts
    path = generated_folder(recipe) / TEXTS_FILE
    if not path.exists():
        raise AlloyError(
            expected="the texts that `texts: generate` stands for",
            got=f"none in {path.parent}",
            hint="`alloykit amalgamate` writes them first; or write them with `alloykit generate` and name the file.",
        )
    return TextsOptions(path=str(path), label="label")


def paths_of(recipe: Recipe) -> list[str]:
    """The paths of all texts that a recipe names."""
    blocks = (recipe.texts, recipe.labelled, recipe.validation, recipe.evaluate and recipe.evaluate.data)
    return [path for block in blocks if isinstance(block, TextsOptions) for path in block.paths]


def generated_folder(recipe: Recipe) -> Path:
    """The folder of the texts that a recipe generates."""
    return Path(recipe.output) / GENERATED


def read(origin: TextsOptions | InMemory, *, want_labels: bool = False) -> Texts:
    """Texts that a recipe names. AlloyError for texts that were in memory."""
    if isinstance(origin, InMemory):
        raise AlloyError(
            expected="a recipe whose texts are in a file",
            got="texts that were passed from Python's memory",
            hint="Write them to a file and name it in the recipe, or call alloykit.amalgamate again with the same texts.",
        )
    return load_texts(origin, want_labels=want_labels)


def wants_labels(recipe: Recipe, method: Method) -> bool:
    """Whether the labels of the recipe's texts are needed: to learn from, or to know the source teacher of each text."""
    return method.needs.labels or (method.needs.generated_texts and recipe.generation is None)


def label_positions(texts: Texts, space: LabelSpace, aliases: Mapping[str, str] | None = None) -> Tensor:
    """The true labels as positions in the union, [n] int64. AlloyError for labels that no teacher knows."""
    place = _places(space, aliases)
    found, unknown, done = torch.empty(len(texts), dtype=torch.int64), set[str](), 0
    for batch in texts.table.batches(["label"]):
        found[done : done + len(batch["label"])] = torch.tensor([place.get(name, -1) for name in batch["label"]])
        done += len(batch["label"])
        unknown |= {(aliases or {}).get(name, name) for name in batch["label"] if name not in place}
    hint = (
        "Rename them in the data, give `label_names`, map them with `labels: {aliases: …}`, or leave out their texts."
    )
    _refuse_unknown(unknown, space, hint)
    return found


def label_matrix(texts: Texts, space: LabelSpace, aliases: Mapping[str, str] | None = None) -> Tensor:
    """Which labels each text has, [n, C] bool. AlloyError for labels that no teacher knows."""
    place = _places(space, aliases)
    found, unknown, row = torch.zeros(len(texts), space.size, dtype=torch.bool), set[str](), 0
    for batch in texts.table.batches(["label"]):
        for cell in batch["label"]:
            labels = [part for part in cell.split(BETWEEN_LABELS) if part]
            unknown |= {label for label in labels if label not in place}
            found[row, [place[label] for label in labels if label in place]] = True
            row += 1
    hint = "Rename them in the data, leave out their texts, or say what stands between the labels of a text: `label_separator: '|'`."
    _refuse_unknown(unknown, space, hint)
    return found


def _places(space: LabelSpace, aliases: Mapping[str, str] | None) -> dict[str, int]:
    """The position in the union of each label, also under its aliases."""
    place = {name: position for position, name in enumerate(space.names)}
    return place | {alias: place[name] for alias, name in (aliases or {}).items() if name in place}


def _refuse_unknown(unknown: set[str], space: LabelSpace, hint: str) -> None:
    """AlloyError if there are labels that no teacher knows."""
    if same := alike(sorted(unknown), space.names):
        label, known = next(iter(same.items()))
        raise AlloyError(
            expected=f'labels of the union, such as "{escaped(known)}"',
            got=f'"{escaped(label)}", which looks the same',
            hint="Write it in the same way in the data.",
        )
    if unknown:
        raise AlloyError(
            expected=f"labels of the union ({quoted(space.names)})",
            got=quoted(sorted(unknown)[:5]) + (" and more" if len(unknown) > 5 else ""),
            hint=hint,
        )


def salted(data: TextsOptions | InMemory, recipe: Recipe) -> TextsOptions | InMemory:
    """Test texts share the store with the recipe's texts, so their ids are salted in the same way."""
    if not isinstance(data, TextsOptions) or not isinstance(recipe.texts, TextsOptions) or data.salt_env is not None:
        return data
    salt = {"salt_env": recipe.texts.salt_env}
    more = [place.model_copy(update=salt) for place in data.more] if data.more else None
    return data.model_copy(update=salt | {"more": more})


def salt_of(origin: Any) -> str:
    """The salt of the ids of these texts; empty without `salt_env`."""
    name = getattr(origin, "salt_env", None)
    return os.environ.get(name, "") if name else ""
