"""What Alloy's fit found out about the pool: warnings, and a section of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from alloykit.methods.alloy.acceptance import (
    ACCEPTED,
    AGREEMENT,
    SIGNIFICANT,
    TOO_FEW,
    accepted_by_confidence,
)
from alloykit.methods.alloy.options import AlloyOptions
from alloykit.methods.alloy.routing import knows_label, margin
from alloykit.methods.protocol import Context, State
from alloykit.methods.report_sections import MethodReport, Section, Series, Table, Text

BACKGROUND = "background"
EXAMPLES = 12  # texts that changed teacher, for the report
LOST = 0.25  # warn: a label that had many texts is left with less than this share of `texts_per_label`
MUCH_BACKGROUND = 0.4  # warn: more than this share of the texts is in the background
INSTEAD = "MUKA's weights are used instead"


def alloy_report(context: Context, teachers: Sequence[str], options: AlloyOptions) -> MethodReport:
    """`teachers`: their names."""
    found = findings(context, teachers, options)
    return MethodReport(warnings=tuple(found["warnings"]), sections=routing_sections(found, teachers))


def findings(context: Context, names: Sequence[str], options: AlloyOptions) -> dict[str, Any]:
    """Shares of the pool by iteration, the check of each teacher, which texts changed teacher, and warnings."""
    state = context.state
    outcome, texts = int(state["outcome"]), int(state["texts"])
    if len(names) == 1:
        return {"texts": texts, "warnings": []}  # one teacher has every text
    if outcome == TOO_FEW:
        least = options.least_texts(context.space)
        return {
            "texts": texts,
            "warnings": [f"{texts} texts are too few to fit the mixture ({least} are needed): {INSTEAD}"],
        }
    history, t_by_teacher = state["history"].tolist(), state["t_by_teacher"]
    examples = zip(state["examples"].tolist(), state["examples_shares"].tolist(), strict=True)
    used = outcome == ACCEPTED
    return {
        "texts": texts,
        "used": used,
        "shares": {name: [row[k] for row in history] for k, name in enumerate([*names, BACKGROUND])},
        "changed": float(state["moved"]),
        "agreement": float(state["agreement"]),
        "inverse_temperature": float(state["inverse_temperature"]),
        "sharpening": dict(zip(names, state["sharpening"].tolist(), strict=True)),
        "t_by_teacher": {
            name: t if math.isfinite(t) else None for name, t in zip(names, t_by_teacher.tolist(), strict=True)
        },
        "examples": [
            {"position": at, "from": names[a], "to": names[b], "share_at_first": first, "share": last}
            for (at, a, b), (first, last) in examples
        ],
        "warnings": _doubts(state, context.space.names, names, options)
        if used
        else why_not(names, history[-1][:-1], t_by_teacher, float(state["agreement"]), texts),
    }


def _doubts(state: State, labels: Sequence[str], teachers: Sequence[str], options: AlloyOptions) -> list[str]:
    """What may be wrong with a fit that is used."""
    first, last = state["texts_by_label"].tolist()
    many = options.texts_per_label
    found = [
        f"teacher '{name}' is no more confident on the texts assigned to it than on the others: routing to it may be wrong"
        for name, t in zip(teachers, state["t_by_teacher"].tolist(), strict=True)
        if t <= SIGNIFICANT
    ]
    found += [
        f"label '{label}' had {first[c]:.0f} texts at the start of the fit and has {last[c]:.0f} at its end: the student may not learn it"
        for c, label in enumerate(labels)
        if first[c] >= many and last[c] < LOST * many
    ]
    if (background := float(state["history"][-1, -1])) > MUCH_BACKGROUND:
        found.append(f"{background:.0%} of the texts seem to have a label of no teacher: they get little weight")
    return found


def why_not(
    names: Sequence[str], shares: Sequence[float], t_by_teacher: Tensor, agreement: float, texts: int
) -> list[str]:
    """Why a fit is not used, teacher by teacher, and as a whole."""
    if bool(t_by_teacher.isnan().all()):
        return [f"every teacher seems to know every text, so there is nothing to route: {INSTEAD}"]
    found = []
    for name, share, t in zip(names, shares, t_by_teacher.tolist(), strict=True):
        if t == -math.inf:
            found.append(f"hardly any text ({share * texts:.0f}) is assigned to teacher '{name}'")
        elif t <= -SIGNIFICANT:
            found.append(f"teacher '{name}' is less confident on the texts assigned to it than on the others")
    if not found and not accepted_by_confidence(t_by_teacher):
        found.append("the teachers are no more confident on the texts assigned to them than on the others")
    if agreement < AGREEMENT:
        found.append(f"two fits, each on half of the pool, agree on only {agreement:.1%} of the in-domain texts")
    return [f"{line}: {INSTEAD}" for line in found]


def texts_that_moved(positions: Tensor, first: Tensor, r: Tensor, r0: Tensor, owners: Tensor) -> dict[str, Tensor]:
    """The share of texts whose most likely label, after the fit, is unknown to the teacher of the start; the clearest of them.

    positions [n]: in the pool; first [n, N]: γ at the start.
    """
    k = knows_label(r, r0, owners)
    before, after = first.argmax(-1), k.argmax(-1)
    moved = ~owners[before, r.argmax(-1)]
    clearest = torch.where(moved, margin(r, r0, owners) * (1 - r0), -torch.ones_like(r0)).argsort(
        descending=True, stable=True
    )
    shown = clearest[: min(EXAMPLES, int(moved.sum()))]
    who = after[shown].unsqueeze(1)
    return {
        "moved": moved.double().mean(),
        "examples": torch.stack([positions[shown], before[shown], after[shown]], -1),
        "examples_shares": torch.cat([first[shown].gather(1, who), k[shown].gather(1, who)], -1),
    }


def routing_sections(found: Mapping[str, Any], teachers: Sequence[str]) -> tuple[Section, ...]:
    """`found`: `findings`; no section where nothing was fitted."""
    if "shares" not in found:
        return ()
    names, shares, used = [*teachers, BACKGROUND], found["shares"], found["used"]
    parts: list[Text | Table | Series] = []
    if not used:
        parts.append(Text(text=f"The fitted mixture is not used; {INSTEAD}. The warnings say why."))
    parts += [
        Text(
            text=f"The mixture was fitted to {found['texts']:,} texts of the pool. {found['changed']:.1%} of them {'were' if used else 'would be'} "
            "routed to another teacher than at the start of the fit, which knows the teachers' confidences alone. Two fits, each on half of the pool, "
            f"agree on the label of {found['agreement']:.1%} of the in-domain texts (below {AGREEMENT:.1%} the mixture is not used). "
            f"This agreement also sets how sharp the routing is: its log-odds are multiplied by {found['inverse_temperature']:.2f}."
        ),
        Table(
            caption="Teachers in the mixture",
            columns=("teacher", "share at the start", "share at the end", "t", "sharpening"),
            rows=tuple(
                (name, shares[name][0], shares[name][-1], found["t_by_teacher"].get(name), found["sharpening"].get(name))
                for name in names
            ),
            percent=("share at the start", "share at the end"),
        ),
        Text(
            text="t: how much more confident a teacher is on the texts assigned to it than on the others (Welch's t). Where one is below "
            f"−{SIGNIFICANT:.2f} the mixture is not used. Sharpening: the power to which the teacher's probabilities are raised, above 1 where they "
            f"are nearly flat. {BACKGROUND.capitalize()}: texts that no teacher knows; the less confident half of the pool starts there."
        ),
        Series(
            caption="Share of the pool that is routed to each teacher: from the teachers' confidences alone (iteration 0), and after each iteration of the fit.",
            x="iteration",
            y="texts (%)",
            points=tuple(range(len(shares[names[0]]))),
            lines={name: tuple(shares[name]) for name in names},
            percent=True,
        ),
    ]  # fmt: skip
    if used and found["examples"]:
        examples = found["examples"]
        parts.append(
            Table(
                caption="Texts that changed teacher, the clearest first, with the new teacher's weight before the fit and after it",
                columns=("from", "to", "before", "after"),
                rows=tuple((e["from"], e["to"], e["share_at_first"], e["share"]) for e in examples),
                percent=("before", "after"),
                positions=tuple(e["position"] for e in examples),
            )
        )
    return (Section(title="Routing", parts=tuple(parts)),)
