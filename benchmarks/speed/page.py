"""results/speed.md: the figures of results/speed/*.json as one page, after a summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows

Figures = dict[str, Any]


def write() -> None:
    lines = ["# Speed", "", Path(__file__).with_name("summary.md").read_text(encoding="utf-8").strip(), ""]
    for name, (title, table) in PARTS.items():
        lines += [f"## {title}", ""]
        found = [made for made in (measured("speed", name + suffix) for suffix in ("", "-gpu")) if made]
        if not found:
            lines += ["Not measured yet.", ""]
        for made in found:
            lines += [*table(made["figures"]), *ran(made)]
    write_atomic(RESULTS / "speed.md", "\n".join(lines).rstrip() + "\n")


def _ratio(value: dict[str, float]) -> str:
    return f"{value['ratio']:.2f} ({value['from']:.2f} to {value['to']:.2f})"


def _passes(f: Figures) -> list[str]:
    names = [n for n in ("ours", "stock") if n in f["lengths"][0]]
    body = [
        [r["precision"], r["tokens"], r["texts_per_second_plain"], *(_ratio(r[n]) for n in names)] for r in f["lengths"]
    ]
    titles = {"ours": "masks from bytes", "stock": "stock dropout"}
    return [
        f"{f['model']}, {f['tokens_per_batch']:,} tokens per batch: the speed of a Monte-Carlo pass as a share of the plain "
        f"pass's (median of {f['rounds']} rounds, in brackets the middle half). Goal: at least 0.8.",
        "",
        *rows(["", "tokens", "plain, texts/s", *(titles[n] for n in names)], body),
    ]


def _amalgamation(f: Figures) -> list[str]:
    s = f["settings"]
    body = []
    for name, found in f["ways"].items():
        accuracy, one = f["accuracy"][name], found[0]
        spread = " to ".join(f"{100 * x:.1f}" for x in accuracy["spread"])
        body.append(
            [
                name,
                one["seconds"],
                one["sweep"],
                one["training"],
                f"{100 * accuracy['mean']:.1f} ({spread})",
                len(found),
            ]
        )
    lines = [
        f"AG News, two teachers of three MiniLM layers, {s['texts']} texts of at most {s['length']} tokens, K = {s['passes']}, "
        f"three epochs; accuracy on {s['test']} test texts. Times are of seed 0, from loading the first weights to the "
        "finished student (with alloykit: to the written report).",
        "",
        *rows(["", "seconds", "passes", "training", "accuracy, % (spread)", "seeds"], body),
        *rows(["ratio of times", ""], [[name, f"{value:.1f} ×"] for name, value in f["ratios"].items()]),
        f"What each idea contributes ({f['ladder']['texts']} of the texts, {f['ladder']['rounds']} rounds; each line "
        "has all ideas of the lines above it):",
        "",
    ]
    for part in ("a pass", "training"):
        steps = f["ladder"][part]
        lines += rows(
            [part, "seconds", "faster than the line above"],
            [[x["with"], x["seconds"], _ratio(x) if "ratio" in x else "–"] for x in steps],
        )
    lines += [
        f"Reading a batch of 32, padding it and adding the teachers' outputs takes {f['collator']['milliseconds']} ms, "
        f"{100 * f['collator']['of_a_step']:.1f} % of a training step.",
        "",
    ]
    plan = f["plan"]
    body = [
        [
            part,
            plan["predicted"][part],
            plan["measured"][part],
            f"{100 * (plan['predicted'][part] / plan['measured'][part] - 1):+.0f} %",
        ]
        for part in ("sweep", "training")
    ]
    return [
        *lines,
        "What `alloykit plan` predicted for the run with K = 16:",
        "",
        *rows(["", "predicted, s", "measured, s", "error"], body),
    ]


def _growth(f: Figures) -> list[str]:
    lines = []
    for what, slope in (("texts", f["slope_texts"]), ("teachers", f["slope_teachers"])):
        body = [[n, s] for n, s in f[f"by_{what}"].items()]
        lines += [
            f"Slope over {what}, log–log: {slope:.2f} (goal: at most 1.05).",
            "",
            *rows([what, "seconds"], body),
        ]
    return lines


def _floor(f: Figures) -> list[str]:
    lines = [
        f"{f['model']}, {f['texts']} texts of AG News. The floor is the FLOPs of linear layers and attention over the machine's "
        f"rate of large matrix products in {f['precision']}, {f['matmul_gflops']:,.0f} GFLOP/s.",
        "",
    ]
    body = [
        [
            n,
            w["seconds"],
            w["floor_seconds"],
            f"{w['times_the_floor']:.1f} ×",
            f"{100 / w['times_the_floor']:.0f} %",
            f"{100 * w['padding']:.1f} %",
        ]
        for n, w in f["work"].items()
    ]
    lines += rows(["", "seconds", "floor", "times the floor", "share of the machine's rate", "padding"], body)
    kinds = sorted(
        {k for w in f["work"].values() for k in w["shares"]}, key=lambda k: -f["work"]["training"]["shares"].get(k, 0)
    )
    return lines + rows(
        ["share of the time", *f["work"]],
        [[k, *(f"{100 * w['shares'].get(k, 0):.0f} %" for w in f["work"].values())] for k in kinds],
    )


def _base_size(f: Figures) -> list[str]:
    body = [
        [n, w["seconds"], f"{w['reads_per_second']:,.0f}", f"{100 * w['share']:.0f} %"] for n, w in f["work"].items()
    ]
    return [
        f"{f['model']}. {f['texts']:,} texts of AG News with {f['tokens']:.0f} tokens on average, two teachers, {f['passes']} Monte-Carlo passes and a plain one, a student of the teachers' size, one epoch, "
        f"{f['precision']}. The last column is the share of the machine's rate of large matrix products, {f['matmul_tflops']:,.0f} TFLOP/s: the FLOPs of the texts' tokens without padding, over the time. "
        "Plain pass and training steps are of the models alone. Sweep and training are parts of a whole run: they also load models, and write outputs, weights and checkpoints.",
        "",
        *rows(["", "seconds", "texts read per second", "share of the machine's rate"], body),
    ]


def _formats(f: Figures) -> list[str]:
    body = [
        [n, kind, f"{100 * t['same_label']:.1f} %", t["mean_probability_difference"], t["largest_probability_difference"],
         t["mean_confidence_difference"], _ratio(t["speed_of_plain_pass"]), _ratio(t["speed_of_monte_carlo_pass"])]
        for n, kinds in f["teachers"].items() for kind, t in kinds.items()
    ]  # fmt: skip
    return [
        f"Against float32 on {f['texts']:,} test texts of AG News; speed as a multiple of float32's.",
        "",
        *rows(
            [
                "teacher",
                "format",
                "same label",
                "mean difference of p",
                "largest",
                "mean difference of c",
                "plain pass",
                "Monte-Carlo pass",
            ],
            body,
        ),
    ]


def _memory(f: Figures) -> list[str]:
    body = [[f"{r['texts']:,}", round(r["peak_mb"]), r["seconds"]] for r in f["runs"]]
    return [
        "Peak resident memory of a process that reads, sweeps (two tiny teachers, 4 passes), trains and reports.",
        "",
        *rows(["texts", "peak, MB", "seconds"], body),
        f"Most texts against fewest: {f['growth']:.3f} × (goal: at most 1.1).",
        "",
    ]


def _compiled_products(f: Figures) -> list[str]:
    body = [[f"{r['capacity']:,}", f"{r['peak_mb']:,}", r["cpu_seconds"]] for r in f["runs"]]
    return [
        f"In bfloat16 on a CPU, oneDNN compiles a matrix product for each shape and keeps it. {f['steps']} training steps of MiniLM with six layers, with batches of {f['batch']} texts of up to {f['longest']} tokens. "
        "alloykit sets a limit; the larger number is oneDNN's own.",
        "",
        *rows(["products kept", "peak, MB", "CPU seconds"], body),
    ]


def _default_method(f: Figures) -> list[str]:
    s = f["settings"]
    body = [
        [name, one["cpu_seconds"], one["seconds"], f"{f['ratios'][name]:.1f} ×", f"{100 * one['accuracy']:.1f}"]
        for name, one in f["ways"].items()
    ]
    return [
        f"AG News, two teachers of three MiniLM layers, {s['texts']} texts of at most {s['length']} tokens, {s['epochs']} epochs; one thread, one seed. With alloykit to the written report. "
        "The seconds that passed depend on what else the machine did.",
        "",
        *rows(["", "CPU seconds", "seconds", "times as fast as by hand", "accuracy, %"], body),
    ]


def _textbrewer(f: Figures) -> list[str]:
    s, body = f["settings"], []
    for name, found in f["ways"].items():
        accuracy = [x["accuracy"] for x in found]
        body.append(
            [
                name,
                f"{sum(x['cpu_seconds'] for x in found) / len(found):.1f}",
                f"{sum(x['seconds'] for x in found) / len(found):.1f}",
                f"{100 * sum(accuracy) / len(accuracy):.1f} ({100 * min(accuracy):.1f} to {100 * max(accuracy):.1f})",
            ]
        )
    seeds = "one seed" if len(found) == 1 else f"means of {len(found)} seeds"
    return [
        f"TextBrewer {s['textbrewer']}, its own task: {s['teachers']} teachers of AG News (six MiniLM layers each), a student of three, {s['texts']} labelled texts of at most "
        f"{s['length']} tokens, {s['epochs']} epochs of batches of {s['batch']}, accuracy on {s['test']} test texts; {seeds}. From the teachers' folders to the "
        "trained student; with alloykit to the written report, all checks included. One thread. The seconds that passed depend on what else the machine did.",
        "",
        *rows(["", "CPU seconds", "seconds", "accuracy, % (spread)"], body),
        *rows(["ratio of CPU seconds", ""], [[name, f"{value:.1f} ×"] for name, value in f["ratios"].items()]),
    ]


def _busy(f: Figures) -> list[str]:
    body = [[x["others"], x["alloykit"], x["default"], f"{x['alloykit'] / x['default']:.1f} ×"] for x in f["loads"]]
    return [
        f"Training steps per second of three layers on all {f['cores']} cores, beside other programs that never rest. The command line sets GOMP_SPINCOUNT: a thread that waits for another "
        f"one soon sleeps. By default it keeps its core busy while it waits. Medians of {f['rounds']} rounds of {f['seconds']} s.",
        "",
        *rows(["busy programs", "as the command line", "default", ""], body),
    ]


PARTS: dict[str, tuple[str, Callable[[Figures], list[str]]]] = {
    "passes": ("Speed of a Monte-Carlo pass", _passes),
    "amalgamation": ("A whole amalgamation", _amalgamation),
    "growth": ("Time against texts and teachers", _growth),
    "floor": ("Where the time goes", _floor),
    "base_size": ("Models of BERT-base's size", _base_size),
    "formats": ("bfloat16 and int8 teachers", _formats),
    "memory": ("Memory", _memory),
    "compiled_products": ("Compiled matrix products", _compiled_products),
    "default_method": ("The default method", _default_method),
    "textbrewer": ("Against TextBrewer", _textbrewer),
    "busy": ("Beside busy programs", _busy),
}
