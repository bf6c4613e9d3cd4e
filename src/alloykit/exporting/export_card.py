"""The README of an exported folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def export_card(measured: Mapping[str, Any], labels: int, temperature: float) -> str:
    """Says what is in the folder, what was measured, and how to use it. measured: export.json."""
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
    return f"""---
library_name: onnx
pipeline_tag: text-classification
---

# A text classifier with {labels} labels, as ONNX

alloykit exported it, and compared every graph with the PyTorch student in float32 on {measured["texts"]:,} texts.{accuracy}

| file | numbers | MB | same label | largest difference of a probability | accuracy | speed beside PyTorch |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}

Speed: on a CPU ({measured["threads"]} thread{"s" * (measured["threads"] > 1)}), tokenisation included. On other processors it differs.

The graphs' `logits` are the student's logits divided by its temperature, {temperature:.4g}: their softmax is what `alloykit predict` answers.

```sh
alloykit predict . texts.csv --onnx
```

The folder has the layout that transformers.js expects: `pipeline("text-classification", "FOLDER", {{dtype: "q8"}})` takes the int8 graph,
`fp32` the float32 graph, `fp16` the float16 graph.
"""
