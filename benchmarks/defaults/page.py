"""benchmarks/results/defaults.md: the students by which the rule was chosen, and the default against a grid."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.files import write_atomic
from alloykit.training import schedule
from benchmarks.defaults import choice, grid, sizes
from benchmarks.defaults.study import DEFAULT, Cell, Study
from benchmarks.defaults.world import TEACHER, TEACHING, TEST
from benchmarks.harness.results import RESULTS, load
from benchmarks.harness.sections import note
from benchmarks.harness.summary import rows

NOTES = Path(__file__).with_name("notes")
Cells = Mapping[str, Any]


def write() -> None:
    lines = [
        "# The default learning rate and number of epochs",
        "",
        *note(NOTES, "summary"),
        *_rule(),
        *_setting(),
        *_choice(),
        *_grid(),
        *_sizes(),
        *_checkpoints(),
    ]
    write_atomic(RESULTS / "defaults.md", "\n".join(lines).rstrip() + "\n")


def cells_of(study: Study) -> Cells:
    path = RESULTS / study.paper / f"{study.name}.json"
    return dict(load(path)["cells"]) if path.exists() else {}


def _rule() -> list[str]:
    s = schedule
    return [
        "## The rule",
        "",
        f"Learning rate: {s.RATE:g} · ({s.WIDTH} / width) · ({s.LAYERS} / layers), at most {s.MAX_RATE:g}. Epochs: {s.MIN_EPOCHS}, or as "
        f"many as make {s.MIN_STEPS} + {s.STEPS_PER_LABEL} · labels optimiser steps, at most {s.MAX_EPOCHS}. Both are written into `recipe.yaml`, and `alloykit plan` shows them.",
        "",
        *rows(
            ["texts learned from", "labels", "epochs", "steps (batches of 32)"],
            [_planned(n, c) for n in (450, 1_425, 4_750, 19_000, 98_000) for c in (4, 20)],
        ),
        *rows(
            ["encoder", "learning rate"],
            [
                [f"{layers} layers, width {width}", f"{s.default_rate(layers, width):g}"]
                for layers, width in ((3, 384), (6, 384), (12, 384), (6, 768), (12, 768), (24, 1024))
            ],
        ),
    ]


def _planned(n: int, labels: int) -> list[str]:
    options = schedule.with_defaults(schedule.TrainingOptions(), n, labels, 3, 384)
    return [f"{n:,}", f"{labels}", f"{options.epochs:g}", f"{schedule.Schedule.of(n, options).total:,}"]


def _setting() -> list[str]:
    every = {s.name: s for study in (choice.TABLE, grid.TABLE) for s in study.sets}
    body = [
        [
            s.title,
            "both know all labels" if s.shared else "each knows half of the labels",
            f"{s.taught:,} texts, {s.epochs} epochs",
            s.tokens,
        ]
        for s in every.values()
    ]
    return [
        "## How it was measured",
        "",
        f"Method `alloy`. Two teachers per set, of {TEACHER['layers']} layers, trained once (learning rate {TEACHING['learning_rate']:g}, batches of "
        f"{TEACHING['batch_size']}). The pool has other texts; the {TEST} test texts are of the test file. Students start from evenly spaced layers of bundled:minilm "
        "and learn in float32, in batches of 32. A seed draws the student's head, the order of the texts and the held-out texts; teachers and "
        "texts stay. Texts are cut at few tokens, because this ran on a part of one core. Word pieces that no text has were taken out of the encoder, "
        "which changes no answer.",
        "",
        "Accuracy is balanced: the mean over the labels. Routing is the accuracy of the targets. Agreement is the share of the test texts on which the student "
        "gives the label of its own target.",
        "",
        *rows(["set", "teachers", "their training", "tokens"], body),
    ]


def _choice() -> list[str]:
    cells = cells_of(choice.TABLE)
    body = [_row(cell, cells, choice.TABLE) for cell in choice.TABLE.cells]
    made = sorted({c["commit"] for c in cells.values() if c["status"] == "done"})
    return [
        "## How it was chosen",
        "",
        *note(NOTES, "choice"),
        f'`python -m benchmarks defaults choice`, commits {", ".join(made)}. Selected: the step of the checkpoint that was taken, the earliest within "tolerance" standard errors of the lowest held-out loss. '
        "The commits are of a branch that was rebased since. The training's code was the same, but the rule "
        "was not yet there, so rates and epochs are explicit. Students at 6e-4 with 8 and 24 epochs are trained as the first rule would.",
        "",
        *rows(["set", "texts", "layers", "seed", "rate", "epochs", *SHOWN], body),
    ]


def _sizes() -> list[str]:
    cells = cells_of(sizes.TABLE)
    return [
        "## Many texts, and a deeper encoder",
        "",
        "`python -m benchmarks defaults sizes`. One seed. The method is a later version than in the other tables, so routing differs. "
        "The pool of 100,000 texts is all of the set's that no teacher learned from, and sentences of English Wikipedia. MPNet-base has 12 layers of width 768, "
        "and learns in bfloat16.",
        "",
        *rows(
            ["set", "texts", "layers", "seed", "rate", "epochs", *SHOWN],
            [_row(cell, cells, sizes.TABLE) for cell in sizes.TABLE.cells],
        ),
    ]


SHOWN = ["accuracy, %", "routing, %", "agreement, %", "steps", "selected", "tolerance", "fitted temperature"]


def _row(cell: Cell, cells: Cells, study: Study) -> list[str]:
    title = next(s.title for s in study.sets if s.name == cell.name)
    how = ["default", "default"] if cell.rate is None else [f"{cell.rate:g}", f"{cell.epochs:g}"]
    layers = f"{cell.layers}{' (MPNet)' if cell.encoder == 'mpnet' else ''}"
    begin = [title, f"{cell.size:,}", layers, str(cell.seed), *how]
    found = cells.get(cell.key)
    if found is None:
        return [*begin, "not run", *["–"] * (len(SHOWN) - 1)]
    if found["status"] != "done":
        return [*begin, f"failed: {found['error'].splitlines()[0]}", *["–"] * (len(SHOWN) - 1)]
    shares = [f"{100 * found[key]:.1f}" for key in ("balanced_accuracy", "balanced_routing", "agreement")]
    about = [str(found["steps"]), str(found["selected_step"]), f"{found['tolerance']:g}"]
    return [*begin, *shares, *about, f"{found['temperature']:.2f}"]


def _grid() -> list[str]:
    cells = cells_of(grid.TABLE)
    done = {key: c for key, c in cells.items() if c["status"] == "done"}
    body = []
    for one in grid.SETS:
        size = grid.POOLS[one.name]
        means = {how: _mean(done, one.name, size, how) for how in _hows(size)}
        ran = {how: mean for how, mean in means.items() if mean is not None}
        default = ran.get(DEFAULT)
        most = max((seeds for how, (_, seeds) in ran.items() if how != DEFAULT), default=0)
        rivals = {how: mean for how, mean in ran.items() if how != DEFAULT and mean[1] == most}
        best = max(rivals, key=lambda how: rivals[how][0]) if rivals else None
        seeds = sorted({c.seed for c in grid.TABLE.cells if c.name == one.name and c.key in done})
        wanted = len(_hows(size)) - 1
        routing = next((c["balanced_routing"] for key, c in done.items() if key.startswith(f"{one.name}/")), None)
        row = [one.title, f"{size:,}", _percent(routing), _percent(default and default[0]), best or "–"]
        row += [_percent(rivals[best][0]) if best else "–"]
        row += [f"{100 * (default[0] - rivals[best][0]):+.1f}".replace("-", "−") if default and best else "–"]
        body.append([*row, f"{len(ran) - (DEFAULT in ran)} of {wanted}", len(seeds)])
    head = ["set", "texts", "routing", "default", "best of the grid (rate x epochs)", "its accuracy", "default − best"]
    every = [_row(c, cells, grid.TABLE) for c in grid.TABLE.cells if c.key in cells]
    made = sorted({c["commit"] for c in done.values()})
    return [
        "## The default against a grid",
        "",
        *note(NOTES, "grid"),
        f"`python -m benchmarks defaults grid`, commits {', '.join(made) or '–'}. Balanced accuracy in %, mean over the seeds that were run. The last columns say how "
        f"much of the grid ({len(grid.RATES)} rates × 3 numbers of epochs, {len(grid.SEEDS)} seeds) was run.",
        "",
        *rows([*head, "cells of the grid", "seeds"], body),
        "Every student:",
        "",
        *rows(["set", "texts", "layers", "seed", "rate", "epochs", *SHOWN], every),
    ]


def _hows(size: int) -> list[str]:
    return [DEFAULT, *(f"{rate:g} x {epochs:g}" for rate in grid.RATES for epochs in grid.EPOCHS[size])]


def _mean(done: Cells, name: str, size: int, how: str) -> tuple[float, int] | None:
    values = [
        done[key]["balanced_accuracy"]
        for seed in grid.SEEDS
        if (key := f"{name}/{size}/{grid.LAYERS}/{seed}/{how}") in done
    ]
    return (float(np.mean(values)), len(values)) if values else None


def _percent(share: float | None) -> str:
    return "not run" if share is None else f"{100 * share:.1f}"


def _checkpoints() -> list[str]:
    """What every rule would have taken, of the students that were asked at every check."""
    every = cells_of(choice.TABLE) | cells_of(grid.TABLE)
    body: list[list[str]] = []
    totals: dict[str, list[float]] = {}
    for key, cell in every.items():
        if not cell.get("seen"):
            continue
        taken = chosen_by_rule(cell["seen"])
        body.append(
            [key, str(len(cell["seen"])), *(f"{100 * right:.1f} (step {step})" for step, right in taken.values())]
        )
        for rule, (_, right) in taken.items():
            totals.setdefault(rule, []).append(right)
    if not body:
        return []
    body.append([f"mean of {len(body)}", "", *(f"{100 * float(np.mean(v)):.1f}" for v in totals.values())])
    return [
        "## Which checkpoint",
        "",
        *note(NOTES, "checkpoints"),
        "Accuracy in % on 300 test texts of the checkpoint that each rule takes, by the losses of the same held-out texts. Paired: the standard error of "
        "the difference to the lowest, over the same texts.",
        "",
        *rows(["student", "checks", *totals], body),
    ]


def chosen_by_rule(seen: list[dict[str, Any]]) -> dict[str, tuple[int, float]]:
    """By rule: the step that it takes, and how much of the test it gets right there. `seen`: step, right and the held-out losses of each check."""
    losses = np.array([one["losses"] for one in seen])  # [checks, texts]
    means, n = losses.mean(1), losses.shape[1]
    lowest = int(means.argmin())
    alone = losses[lowest].std(ddof=1) / np.sqrt(n)
    paired = (losses - losses[lowest]).std(1, ddof=1) / np.sqrt(n)
    at = {
        "earliest within one standard error": int(np.argmax(means <= means[lowest] + alone)),
        "earliest within one paired standard error": int(np.argmax(means <= means[lowest] + paired)),
        "lowest": lowest,
        "last": len(seen) - 1,
    }
    return {rule: (int(seen[i]["step"]), float(seen[i]["right"])) for rule, i in at.items()}
