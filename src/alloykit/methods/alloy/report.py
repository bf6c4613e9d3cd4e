"""What Alloy's fit found out about the pool, as sections of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.methods.report_sections import Section, Series, Table, Text

BACKGROUND = "nobody"


def routing_sections(
    found: Mapping[str, Any], teachers: Sequence[str], doubt: float, agreed: float
) -> tuple[Section, ...]:
    """`found`: Alloy.findings; none where nothing was fitted. `doubt`, `agreed`: the limits below which a fit is not used."""
    if "shares" not in found:
        return ()
    names, shares, used = [*teachers, BACKGROUND], found["shares"], found["used"]
    parts: list[Text | Table | Series] = []
    if not used:
        parts.append(
            Text(text="The mixture that was fitted is not used; MUKA's weights serve instead. The warnings say why.")
        )
    parts += [
        Text(
            text=f"The mixture was fitted to {found['texts']:,} texts of the pool. {found['changed']:.1%} of them {'were' if used else 'would be'} "
            "routed to another teacher than at the start of the fit, which knows the teachers' confidences alone. Two fits, each on half of the pool, "
            f"give the same label to {found['agreed']:.1%} of the texts that a teacher knows (below {agreed:.1%} the mixture is not used). "
            f"How well the two agree also sets how sharp the routing is: its log-odds are multiplied by {found['exponent']:.2f}."
        ),
        Table(
            caption="Teachers in the mixture",
            columns=("teacher", "share at the start", "share in the end", "t", "sharpening"),
            rows=tuple(
                (name, shares[name][0], shares[name][-1], found["surer"].get(name), found["powers"].get(name)) for name in names
            ),
            percent=("share at the start", "share in the end"),
        ),
        Text(
            text=f"t: how much more confident a teacher is on the texts routed to it than on the others, in standard errors; where one is below −{doubt:.2f} "
            "the mixture is not used. Sharpening: the power to which the teacher's probabilities are raised, above 1 where they are nearly flat. "
            f"{BACKGROUND.capitalize()}: texts that no teacher knows; the less confident half of the pool begins there."
        ),
        Series(
            caption="Share of the pool that is routed to each teacher, from the teachers' confidences alone (round 0) to the last round of the fit.",
            x="round",
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
                caption="Texts that changed teacher, the clearest first, with the new teacher's weight before the first round and after the last",
                columns=("from", "to", "before", "after"),
                rows=tuple((e["from"], e["to"], e["share_at_first"], e["share"]) for e in examples),
                percent=("before", "after"),
                positions=tuple(e["position"] for e in examples),
            )
        )
    return (Section(title="Routing", parts=tuple(parts)),)
