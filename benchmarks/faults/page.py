"""results/faults.md: what was tried, what failed and what was lost, from results/faults/*.json."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from alloykit.files import write_atomic
from benchmarks.faults.cases import FAULTS
from benchmarks.faults.steps import GROWTH_MB, LIMIT_S
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import machine, measured
from benchmarks.harness.summary import rows

FUZZ = (
    "recipes", "teachers", "models", "hostile", "graphs", "runs", "finished", "stores", "data", "answers", "services", "functions", "requests", "streams",
)  # fmt: skip
KINDS = (*FUZZ, "pairs", "later_pairs", "disks", "later_disks", "kills", "later_kills", "processes")
COLUMNS: dict[str, tuple[str, ...]] = {
    "tracebacks": ("traceback", "exit code", "no message", "long message", "broken case"),
    "hangs": ("hang",),
    "memory": ("memory",),
    "foreign code, network, control characters": ("foreign code", "network", "control characters"),
    "lost": ("lost", "left behind"),
    "different": ("different",),
}


def write() -> None:
    found = {name: made for name in KINDS if (made := measured("faults", name)) is not None}
    about = Path(__file__).with_name("summary.md").read_text(encoding="utf-8").strip()
    lines = ["# Faults", "", about.format(seconds=f"{LIMIT_S:.0f}", megabytes=GROWTH_MB), ""]
    if not found:
        write_atomic(RESULTS / "faults.md", "\n".join([*lines, "Not run yet."]) + "\n")
        return
    figures = {name: made["figures"] for name, made in found.items()}
    lines += [
        *rows(
            ["", "cases", "commands", "went through", "refused", "killed", *COLUMNS],
            [_row(f["title"], [f]) for f in figures.values()]
            + [
                _row("damaged inputs in all", [figures[n] for n in FUZZ if n in figures]),
                _row("**all**", figures.values()),
            ],
        ),
        *_ends(figures.values()),
        *(line for f in figures.values() for line in _failed(f)),
        "## What ran",
        "",
        f"The command of a line is `python -m benchmarks faults` with its name. Machine: {'; '.join(sorted({machine(made) for made in found.values()}))}.",
        "",
        *rows(
            ["", "seeds", "date", "seconds", "commits", "longest case, s", "most memory of a command, MB"],
            [
                [n, f["seeds"], found[n]["date"], found[n]["seconds"], found[n]["commit"], f["longest_seconds"], f["most_growth_mb"]]
                for n, f in figures.items()
            ],
        ),
    ]  # fmt: skip
    write_atomic(RESULTS / "faults.md", "\n".join(lines).rstrip() + "\n")


def _row(title: str, figures: Iterable[dict[str, Any]]) -> list[Any]:
    figures = list(figures)
    ends = [f["ends"] for f in figures]

    def ended(*codes: str) -> int:
        return sum(e.get(code, 0) for e in ends for code in codes)

    failed = [
        sum(any(kind in kinds for kind, _ in one["faults"]) for f in figures for one in f["failed"])
        for kinds in COLUMNS.values()
    ]
    return [
        title,
        f"{sum(f['cases'] for f in figures):,}",
        f"{sum(f['commands'] for f in figures):,}",
        f"{ended('0'):,}",
        f"{ended('2'):,}",
        f"{ended('-9', '-15', '130', '143'):,}",
        *failed,
    ]


def _ends(figures: Iterable[dict[str, Any]]) -> list[str]:
    codes = sorted({code for f in figures for code in f["ends"]} - {"0", "2", "130", "141", "143", "-9", "-15"})
    return [f"Other exit codes than 0, 2, 130 and 141, beside the kills: {', '.join(codes) or 'none'}.", ""]


def _failed(figures: dict[str, Any]) -> list[str]:
    if not figures["failed"]:
        return []
    body = [
        [
            one["seed"],
            f"`{_plain(one['about'])[:120]}`",
            "; ".join(f"{kind}: {_plain(what)[:160]}" for kind, what in one["faults"]),
        ]
        for one in figures["failed"]
    ]
    return [
        f"## What failed: {figures['title'][0].lower()}{figures['title'][1:]}",
        "",
        *rows(["seed", "case", "fault"], body),
    ]


def _plain(text: str) -> str:
    return " ".join(ascii(text)[1:-1].replace("|", "/").replace("`", "'").replace("<", "‹").split())


assert {kind for kinds in COLUMNS.values() for kind in kinds} == set(FAULTS)
