"""The text of a first recipe: every block with a comment that says what it is."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from yaml.reader import Reader

from alloykit.escape import visible
from alloykit.models.location import BUNDLED
from alloykit.names import is_anonymous, quoted
from alloykit.recipe.texts_origin import GENERATE
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.yaml_files import yaml_on_one_line

WIDTH = 100  # characters of a line of comments
ABOUT_LABELS = {
    "aliases": "Two spellings of what is probably one label. Remove a pair if these are two classes.",
    "catch_all": "Labels whose name probably means 'none of this teacher's other labels'. A teacher that gives one to a text leaves the text to the "
    "teachers that name a label. Remove a label from the list if it is a class of its own.",
}


def commented_recipe(
    values: Mapping[str, Any],
    infos: Sequence[HuggingFaceInfo],
    nameless: Mapping[str, Sequence[str]],
    label: str | None,
    of_length: str,
) -> str:
    """The text of a recipe with a comment before each block.

    values: the recipe. infos: its teachers. nameless: the labels of those without real label names. label: the column of the texts that has true
    labels by its name. of_length: the comment on `training:`.
    """
    texts = dict(values["texts"])
    where = next(iter(texts.values())) if set(texts) in ({"path"}, {"dataset"}) else None
    example = yaml_on_one_line({"data": {"path": "labelled.csv", "label": label or "label"}})
    blocks = [
        _comment("A recipe for `alloykit amalgamate`. First look at what it would do: `alloykit plan FILE`.")
        + _comment("Paths count from the folder in which you run the command.")
        + _comment(
            "For an editor that knows the keys, run `alloykit schema > schema.json` and make this the first line:"
        )
        + "#   # yaml-language-server: $schema=schema.json\n",
        _comment(
            "The classifiers to learn from. Labels of the same name become one class, and each text gets one of all labels. For teachers that answer "
            "different questions, such as topic and sentiment, write `questions:` instead."
        )
        + "teachers:\n"
        + "".join(_teacher(info, nameless.get(info.name)) for info in infos),
        _comment(_about_texts(texts)) + _line("texts", where if where not in (None, GENERATE) else texts),
    ]
    if "labels" in values:
        about = "".join(_comment(f"{key}: {ABOUT_LABELS[key]}") for key in values["labels"])
        blocks.insert(2, about + _line("labels", values["labels"]))
    if "student" in values:
        blocks.append(_comment(_about_student(values["student"])) + _line("student", values["student"]))
    blocks += [
        _comment(f"How the teachers' knowledge is joined; `alloykit methods {values['method']}` shows the options.")
        + _line("method", values["method"]),
        _comment(of_length) + _line("training", values["training"]),
        _comment(_about_evaluation(label if label not in texts.values() else None)) + f"# evaluate: {example}\n",
        _comment("The folder for the student, the report and all else that the run writes.")
        + _line("output", values["output"]),
    ]
    return "\n".join(blocks)


def _teacher(info: HuggingFaceInfo, nameless: Sequence[str] | None) -> str:
    """The entry of a teacher, after its labels. nameless: these, if they are no real names; the entry then has a comment to fill in."""
    about = _comment(f"Labels: {quoted(nameless or info.labels)}.", "  ")
    if not nameless:
        return f"{about}  - {yaml_on_one_line(info.spec.source)}\n"
    note = "These names say nothing. Before you run this recipe, remove the # before `labels:` and write a real name"
    hint = {old: "…" for old in nameless if is_anonymous([old])}
    about += _comment(f"{note} instead of each '…'.", "  ")
    return f"{about}  - model: {yaml_on_one_line(info.spec.source)}\n    # labels: {yaml_on_one_line(hint)}\n"


def _about_texts(texts: Mapping[str, Any]) -> str:
    column = texts.get("text", "text")
    if "label" in texts:
        return f"The texts are in the column '{column}', the true labels in '{texts['label']}': the method learns from them."
    return f"What the teachers read and the student learns from: the column '{column}'. It needs no labels."


def _about_student(student: Mapping[str, Any]) -> str:
    if student["model"] == BUNDLED:
        return (
            "The student begins as half of the layers of a small English encoder. For other languages name another one, "
            "such as the folder of a teacher."
        )
    return "The student begins as evenly spaced layers of the smallest teacher."


def _about_evaluation(label: str | None) -> str:
    column = f"The texts have a column '{label}', which is not read. " if label is not None else ""
    return (
        f"{column}With labelled texts that are not among those above, remove the # to measure the student's accuracy:"
    )


def _comment(text: str, indent: str = "") -> str:
    """Lines of a YAML comment. Characters that would end it are escaped."""
    safe = Reader.NON_PRINTABLE.sub(lambda match: ascii(match[0])[1:-1], visible(text))
    return textwrap.fill(safe, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ") + "\n"


def _line(key: str, value: Any) -> str:
    return f"{key}: {yaml_on_one_line(value)}\n"
