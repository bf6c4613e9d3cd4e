"""The same command after a run twice at the same time, or two of them on one run: both end well or are told of the other."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.later import LATER, prepare, running
from benchmarks.faults.same_results import difference, leftovers
from benchmarks.faults.steps import step

TWICE = (
    "update with labels",
    "update with texts",
    "update with a teacher",
    "export",
    "suggest",
    "watch",
    "predict --to",
    "push",
    "stored answers and a service",
    "all kinds",
)
BOTH = (
    ("export", "watch"),
    ("suggest", "watch"),
    ("export", "update with labels"),
    ("watch", "update with labels"),
    ("suggest", "predict --to"),
)
LATE = (
    ("push", "watch"),
    ("push", "suggest"),
    ("push", "export"),
    ("predict --to", "export"),
    ("predict --to", "watch"),
    ("suggest", "update with a teacher"),
)
LATE_SEED = 45  # the first one of these


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    kinds = LATE if case.seed >= LATE_SEED else [*((name, name) for name in TWICE), *BOTH]
    first, second = kinds[case.seed % len(kinds)]
    references = {name: case.stock.reference(name) for name in (first, second)}
    prepare(case, first)
    later = round(draw.choice((0.0, draw.random() * references[first].seconds)), 3)
    case.about = f"{first} and {second}, {later} s later"
    with running(case.stock, first) as (_, more):
        pair = [step(folder, *LATER[first].argv, **more), step(folder, *LATER[second].argv, after=later, **more)]
        ended = case.run(*pair)
        case.demand(any(o.code == 0 for o in ended), "lost", f"neither went through: {[o.error[-200:] for o in ended]}")
        for name in dict.fromkeys((first, second)):  # alone again, as if there had never been another
            alone = case.run(step(folder, *LATER[name].argv, **more))[0]
            case.demand(alone.code == 0, "lost", f"alone, {name} ended with {alone.code}: {alone.error[-300:]}")
    for name in (first, second):
        for place in LATER[name].makes if LATER[name].begins == LATER[first].begins else ():
            if first == second or place != "run":
                differs = difference(references[name].folder.parent / place, folder / place)
                case.demand(differs is None, "different", f"{place}: {differs}")
    case.demand(not leftovers(folder), "left behind", ", ".join(leftovers(folder)[:3]))


TABLE = Kind("later_pairs", "Two commands after a run at the same time on the same folders", 57, make)
