"""The README of an exported folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.exporting.compared_answers import rounded_down
from alloykit.models.questions import QuestionPart
from alloykit.names import counted


def export_card(measured: Mapping[str, Any], parts: Sequence[QuestionPart]) -> str:
    """The card: the files, the measurements, and how to use them. measured: the content of export.json. parts: of the labels, those of each
    question; one part with the name "" of a student that answers one question."""
    several = parts[0].name != ""
    rows = [_row(name, one, part, several) for name, one in measured["graphs"].items() for part in parts]
    question = " question |" if several else ""
    same = "same labels" if any(part.multi_label for part in parts) else "same label"
    title = f"{len(parts)} questions" if several else counted(len(parts[0].labels), "label")
    notes = _notes(measured)
    return f"""---
library_name: onnx
pipeline_tag: text-classification
---

# A text classifier with {title}, as ONNX

alloykit exported this student. It compared every graph with the student in PyTorch (float32) on {measured["texts"]:,} texts.{_accuracy(measured, parts)}

| file | number format | MB |{question} {same} as PyTorch | largest difference of a probability | accuracy | times as fast as PyTorch |
|---|---|---|---|---|---|---|{"---|" if several else ""}
{chr(10).join(rows)}

Speed: measured on a CPU ({measured["threads"]} thread{"s" * (measured["threads"] > 1)}), tokenisation included. It differs on other processors.

{_several(parts) if several else _one(parts[0])}
```sh
alloykit predict . texts.csv --onnx
```

{notes}{_browser(several)}"""


def _row(name: str, one: Mapping[str, Any], part: QuestionPart, several: bool) -> str:
    """A line of the table: one graph, and one of its questions."""
    share = one["questions"][part.name] if several else one["same_label"]
    found = one.get("accuracy")
    found = found.get(part.name) if isinstance(found, Mapping) else found
    scores = "–" if found is None else f"{100 * found:.2f} %"
    speed = f"{one['times_as_fast']:.1f} ×" if "times_as_fast" in one else "–"
    question = f" {part.name} |" if several else ""
    return (
        f"| `{one['file']}` | {name} | {one['bytes'] / 1e6:.1f} |{question} {100 * share:.2f} % | {one['largest_difference']:.2g} "
        f"| {scores} | {speed} |"
    )


def _accuracy(measured: Mapping[str, Any], parts: Sequence[QuestionPart]) -> str:
    """PyTorch's accuracy, in a sentence; empty without labelled texts."""
    if "accuracy" not in measured:
        return ""
    texts, found = measured["labelled_texts"], measured["accuracy"]
    exact = " (exactly the true labels)" if any(part.multi_label for part in parts) else ""
    if isinstance(found, Mapping):
        each = ", ".join(f"{name} {100 * share:.2f} % of {texts[name]:,}" for name, share in found.items())
        return f" PyTorch's accuracy on the labelled texts{exact}: {each}."
    return f" PyTorch's accuracy on the {texts:,} labelled texts{exact}: {100 * found:.2f} %."


def _one(part: QuestionPart) -> str:
    function = "sigmoid" if part.multi_label else "softmax"
    given = " A text has every label with a probability of at least 0.5.\n" if part.multi_label else "\n"
    return (
        f"The graphs' `logits` are the student's logits divided by its temperature, {part.temperature:.4g}. Their {function} gives the probabilities "
        f"of `alloykit predict`.{given}"
    )


def _several(parts: Sequence[QuestionPart]) -> str:
    """How the logits are shared by the questions."""
    rows = [
        f"| {part.name} | `logits.{part.name}` | {part.first} to {part.first + len(part.labels) - 1} | {part.temperature:.4g} | "
        f"{'sigmoid' if part.multi_label else 'softmax'} |"
        for part in parts
    ]
    return f"""The graphs' `logits` have the labels of all questions, one question after another. Each question also has an output of its own, with its part of
them. They are already divided by the question's temperature. `alloykit_questions` in config.json has the labels of each part.

| question | output | places in `logits` | temperature | probabilities |
|---|---|---|---|---|
{chr(10).join(rows)}
"""


def _browser(several: bool) -> str:
    if several:
        return """transformers.js can load this folder with `AutoModelForSequenceClassification`. Take each question's part of its `logits`. Its
`pipeline("text-classification")` takes one softmax over all labels, which answers no question.
"""
    return """transformers.js can load this folder: `pipeline("text-classification", "FOLDER", {dtype: "q8"})` uses the int8 graph. `fp32` is the float32
graph, and `fp16` the float16 graph.
"""


def _notes(measured: Mapping[str, Any]) -> str:
    """What other runtimes do not do by themselves, in paragraphs that end with an empty line."""
    found = ""
    unusual = {name: one["none_of_these"] for name, one in measured["graphs"].items() if "none_of_these" in one}
    if unusual:
        sides = ", ".join(f"{rounded_down(one['same_side'])} ({name})" for name, one in unusual.items())
        found += f"""The graphs' second output, `states`, is what the classification head reads. With `none_of_these.safetensors`, alloykit computes from it how unusual a
text is (`--none-of-these`). Graph and PyTorch agree on whether a text is unusual on this share of the texts: {sides}. Other runtimes can
leave this output out.

"""
    if measured["long_texts"] != "head":
        found += f"""alloykit reads long texts as the student does (`long_texts: {measured["long_texts"]}`). Other runtimes read only the beginning of a long text, and their answer may be
another.

"""
    return found
