"""The README of an exported folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alloykit.exporting.compared_answers import rounded_down


def export_card(measured: Mapping[str, Any], labels: int, temperature: float) -> str:
    """The card: the files, the measurements, and how to use them. measured: the content of export.json."""
    rows = []
    for name, one in measured["graphs"].items():
        share = f"{100 * one['same_label']:.2f} %"
        scores = f"{100 * one['accuracy']:.2f} %" if "accuracy" in one else "–"
        speed = f"{one['times_as_fast']:.1f} ×" if "times_as_fast" in one else "–"
        rows.append(
            f"| `{one['file']}` | {name} | {one['bytes'] / 1e6:.1f} | {share} | {one['largest_difference']:.2g} | {scores} | {speed} |"
        )
    accuracy = (
        f" PyTorch's accuracy on the {measured['labelled_texts']:,} labelled texts: {100 * measured['accuracy']:.2f} %."
        if "accuracy" in measured
        else ""
    )
    notes = _notes(measured)
    return f"""---
library_name: onnx
pipeline_tag: text-classification
---

# A text classifier with {labels} labels, as ONNX

alloykit exported this student. It compared every graph with the student in PyTorch (float32) on {measured["texts"]:,} texts.{accuracy}

| file | number format | MB | same label as PyTorch | largest difference of a probability | accuracy | times as fast as PyTorch |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}

Speed: measured on a CPU ({measured["threads"]} thread{"s" * (measured["threads"] > 1)}), tokenisation included. It differs on other processors.

The graphs' `logits` are the student's logits divided by its temperature, {temperature:.4g}. Their softmax gives the probabilities of `alloykit predict`.

```sh
alloykit predict . texts.csv --onnx
```

{notes}transformers.js can load this folder: `pipeline("text-classification", "FOLDER", {{dtype: "q8"}})` uses the int8 graph. `fp32` is the float32
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
