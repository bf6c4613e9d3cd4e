"""results/export.md: the figures of results/export/."""

from __future__ import annotations

from typing import Any

from alloykit.files import write_atomic
from benchmarks.export.graphs import FORMATS, TRAIN
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows

TITLES = {
    "float32": "float32",
    "int8": "int8, `alloykit export --int8`",
    "dynamic int8": "int8, onnxruntime's `quantize_dynamic`",
    "float16": "float16",
}


def write() -> None:
    lines = [
        "# The student as ONNX",
        "",
        f"The student here has three layers of MiniLM and the eight labels of Google Snippets. It was fine-tuned with {TRAIN:,} labelled texts. "
        "The int8 graph is calibrated on other training texts, without their labels. The test texts had no part in it.",
        "",
    ]
    for name, title, body in (("agreement", "Agreement and accuracy", _agreement), ("speed", "Speed", _speed)):
        made = measured("export", name)
        lines += [
            f"## {title}",
            "",
            *(["Not measured yet.", ""] if made is None else [*body(made["figures"]), *ran(made)]),
        ]
    write_atomic(RESULTS / "export.md", "\n".join(lines).rstrip() + "\n")


def _agreement(f: dict[str, Any]) -> list[str]:
    return [
        f"On {f['texts']:,} test texts. PyTorch in float32 has an accuracy of {_percent(f['accuracy'])} %. alloykit's int8 graph leaves the products of "
        f"{f['tensors_in_float32']} tensors in float32.",
        "",
        *rows(
            ["graph", "MB", "same label as PyTorch, %", "largest difference of a probability", "mean difference", "accuracy, %"],
            [
                [
                    TITLES[name], f"{one['bytes'] / 1e6:.1f}", _percent(one["same_label"]), f"{one['largest_difference']:.2g}",
                    f"{one['mean_difference']:.2g}", _percent(one["accuracy"]),
                ]
                for name, one in ((name, f["formats"][name]) for name in FORMATS)
            ],
        ),
    ]  # fmt: skip


def _speed(f: dict[str, Any]) -> list[str]:
    threads = f["threads"]
    rates = ", ".join(
        f"{one['PyTorch']['texts_per_second']:,} texts per second with {n} thread{'s' * (n != '1')}"
        for n, one in threads.items()
    )
    return [
        f"{f['texts']} texts, tokenisation included. The graphs take turns in {f['rounds']} rounds: the median, and in brackets the middle half. PyTorch in float32 reads {rates}.",
        "",
        f"The processor has {', '.join(f['instructions']) or 'none of the instructions that we look for'}. onnxruntime chooses its code by the processor, "
        "so we could not measure AVX2 without VNNI here. "
        f"The load average was {f['load']} at the beginning. If it is above 1, other programs use a part of the processor.",
        "",
        *rows(
            ["times as fast as PyTorch", *(f"{n} thread{'s' * (n != '1')}" for n in threads)],
            [
                [TITLES[name], *(f"{one[name]['ratio']:.2f} ({one[name]['from']:.2f} to {one[name]['to']:.2f})" for one in threads.values())]
                for name in FORMATS
            ],
        ),
    ]  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
