"""The tables that a reader sees first: Alloy, the best rival and oracle routing, by setting, by pool, and in the mean over sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.alloy.cases import NO_GAP, Case
from benchmarks.alloy.methods import ABLATIONS, EIGHTH, TITLES
from benchmarks.alloy.settings import set_of
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import corrected, points, rows

NEAR = 0.005  # balanced accuracy that the default may lose: 600 test texts show no smaller difference
GROUPS = {"sets of the choice": "choice", "reported sets": "reported", "later sets": "later"}


def by_set(found: Sequence[Case]) -> list[str]:
    """A line for each set, over its settings and pools, then the means over sets; and in how many cases Alloy is below the best rival."""
    if not found:
        return ["Not run yet.", ""]
    body = []
    for name in dict.fromkeys(set_of(case.setting) for case in found):
        these = [case for case in found if set_of(case.setting) == name]
        body.append([SETS[name].title, these[0].kind, len(these), *_figures(these)])
    body += [[f"*mean, {name}*", "", len(these), *_figures(these)] for name, these in groups(found).items()]
    headings = [
        "accuracy on test texts, %", "kind of set", "cases", "best rival", "Alloy", "oracle routing", "Alloy − best rival, points",
        "share of the gap closed", "balanced accuracy: lowest Alloy − best rival",
    ]  # fmt: skip
    below = [case for case in found if balanced_gain(case) < -NEAR]
    named = "; ".join(f"{c.setting.title}, pool {c.pool}: {signed(balanced_gain(c), 3)}" for c in below)
    others = f" The others: {named}." if below else ""
    mean, worst = over_sets(found, lambda c: c.gained), min(found, key=lambda c: c.gained)
    lower, one_seed = sum(c.gained < 0 for c in found), sum(len(c.outcomes) == 1 for c in found)
    return [
        *rows(headings, body),
        f"A case is a setting with one pool. {one_seed} of the {len(found)} cases have one seed. Alloy is on average {100 * abs(mean):.1f} points {'above' if mean >= 0 else 'below'} the best rival. "
        f"It is below it in {lower} cases; the lowest difference is {signed(worst.gained)} ({worst.setting.title}, pool {worst.pool}).",
        "",
        f"In {len(found) - len(below)} of {len(found)} cases its "
        f"balanced accuracy, in the mean over the seeds, is above the highest one of a rival or at most {100 * NEAR:.1f} points below it.{others}",
        "",
    ]


def _accuracies(found: Sequence[Case]) -> list[str]:
    """Of the best rival, Alloy and oracle routing: means over sets."""
    return [percent(over_sets(found, lambda c, m=m: c.mean(m))) for m in ("best", "alloy", "oracle")]  # type: ignore[misc]


def _figures(found: Sequence[Case]) -> list[str]:
    """Means over sets of accuracies, difference and share of the gap, and the lowest difference in balanced accuracy."""
    gained, gap = over_sets(found, lambda c: c.gained), over_sets(found, lambda c: c.gap)
    lowest = min(found, key=balanced_gain)
    return [
        *_accuracies(found), signed(gained), closed(gained, gap), f"{signed(balanced_gain(lowest))} ({lowest.setting.title}, pool {lowest.pool})",
    ]  # fmt: skip


def balanced_gain(case: Case) -> float:
    """Alloy's balanced accuracy minus the highest one of a rival, in the mean over the seeds."""
    return case.mean("alloy", "balanced") - case.best_balanced


def by_setting(found: Sequence[Case]) -> list[str]:
    """A line for each setting, then the means over sets; bold after Holm's correction over the settings."""
    if not found:
        return ["Not run yet.", ""]
    body = []
    for case, less in zip(found, corrected([case.less("best") for case in found]), strict=True):
        body.append([
            case.setting.title, case.kind, case.which,
            *(percent(case.mean(m)) for m in ("best", "alloy", "oracle")), points(less), closed(case.gained, case.gap),
            signed(balanced_gain(case)), len(case.outcomes),
        ])  # fmt: skip
    for name, these in groups(found).items():
        gained, gap = over_sets(these, lambda c: c.gained), over_sets(these, lambda c: c.gap)
        balanced = over_sets(these, balanced_gain)
        body.append(
            [f"*mean, {name}*", "", "", *_accuracies(these), signed(gained), closed(gained, gap), signed(balanced), ""]
        )
    headings = [
        "accuracy on test texts, %", "kind of set", "best rival", "its accuracy", "Alloy", "oracle routing", "Alloy − best rival, points",
        "share of the gap closed", "balanced accuracy: Alloy − best rival", "seeds",
    ]  # fmt: skip
    return [*rows(headings, body), *told(found)]


def told(found: Sequence[Case]) -> list[str]:
    """The mean and the worst case of each group in a sentence."""
    lines = []
    for name, these in groups(found).items():
        worst, mean = min(these, key=lambda c: c.gained), over_sets(these, lambda c: c.gained)
        below = sum(c.gained < 0 for c in these)
        lines.append(
            f"- {name[0].upper()}{name[1:]}: Alloy is on average {100 * abs(mean):.1f} points {'above' if mean >= 0 else 'below'} the best rival, and below it in "
            f"{below} of {len(these)} settings. Worst case: {signed(worst.gained)} ({worst.setting.title})."
        )
    return [*lines, ""]


def by_pool(found: dict[str, list[Case]]) -> list[str]:
    """The means over sets for every pool."""
    body = []
    for pool, cases in found.items():
        for name, these in groups(cases).items():
            worst = min(these, key=lambda c: c.gained)
            gained, gap = over_sets(these, lambda c: c.gained), over_sets(these, lambda c: c.gap)
            body.append([
                pool, name, f"{len({set_of(c.setting) for c in these})} / {len(these)}", *_accuracies(these), signed(gained), closed(gained, gap),
                f"{sum(c.gained < 0 for c in these)} of {len(these)}", f"{signed(worst.gained)} ({worst.setting.title})",
            ])  # fmt: skip
    headings = [
        "pool", "", "sets / settings", "best rival, %", "Alloy", "oracle routing", "Alloy − best rival, points", "share of the gap closed",
        "below the best rival", "worst case",
    ]  # fmt: skip
    return rows(headings, body) if body else ["Not run yet.", ""]


def by_variant(students: Mapping[str, Sequence[Case]], targets: Mapping[str, Sequence[Case]]) -> list[str]:
    """Variants of Alloy minus Alloy, by pool: the mean over sets and the lowest setting, in the cases that have both."""
    kinds = [("students", students, (EIGHTH,)), ("targets", targets, tuple(ABLATIONS))]
    pools, body = [pool for pool, cases in targets.items() if cases], []
    for kind, cases, variants in kinds:
        for variant in variants:
            found = [_less_of(variant, cases.get(pool, [])) for pool in pools]
            if any(found):
                body.append([TITLES.get(variant, variant), kind, *(told or "–" for told in found)])
    return rows(["variant − Alloy, points", "of", *pools], body) if body else ["Not run yet.", ""]


def _less_of(variant: str, cases: Sequence[Case]) -> str:
    """Empty if no case has both."""
    both = [c for c in cases if all(variant in found for found in c.outcomes.values())]
    if not both:
        return ""
    lost = [c.mean(variant) - c.mean("alloy") for c in both]
    mean = over_sets(both, lambda c: c.mean(variant) - c.mean("alloy"))
    return f"{signed(mean)} (lowest {signed(min(lost))}; {len(both)} setting{'s' if len(both) > 1 else ''})"


def groups(found: Sequence[Case]) -> dict[str, list[Case]]:
    """Those that have a case; "all sets" only beside two or more of them."""
    kept = {name: [c for c in found if c.kind == kind] for name, kind in GROUPS.items()}
    some = {name: these for name, these in kept.items() if these}
    return some | {"all sets": list(found)} if len(some) > 1 else some


def over_sets(found: Sequence[Case], value: Callable[[Case], float]) -> float:
    """The mean over sets of the mean over the settings of a set: every set counts once."""
    sets = dict.fromkeys(set_of(c.setting) for c in found)
    return float(np.mean([np.mean([value(c) for c in found if set_of(c.setting) == name]) for name in sets]))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def signed(value: float, digits: int = 1) -> str:
    return f"{round(100 * value, digits) + 0.0:+.{digits}f}".replace("-", "−")  # + 0.0: no −0.0


def closed(gained: float, gap: float) -> str:
    if gap <= NO_GAP:
        return "no gap"
    return "above oracle routing" if gained > gap else f"{100 * gained / gap:.0f} %".replace("-", "−")
