"""Warnings of Alloy's fit, and its section of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from alloykit.methods.alloy.acceptance import ACCEPTED, MIN_SKILL, NO_SKILL, TOO_FEW, least_agreement
from alloykit.methods.alloy.background_choice import MIN_GAIN, too_few_left
from alloykit.methods.alloy.energy_weights import CLEAR, EnergyWeights
from alloykit.methods.alloy.options import AlloyOptions
from alloykit.methods.alloy.repeated import KEPT
from alloykit.methods.alloy.routing import knows_label, routing_margin
from alloykit.methods.alloy.views import UNLIKE
from alloykit.methods.ensemble import scale_warnings
from alloykit.methods.protocol import Context, State
from alloykit.methods.report_sections import MethodReport, Section, Series, Table, Text
from alloykit.names import counted

EXAMPLES = 12  # texts that changed teacher, for the report
HAD, LEFT = 20, 5  # warn: a label that had so many texts at the start of the fit is left with less than so many
HARDLY_ANY = 0.01  # warn: a teacher with a smaller share of the pool
BY_ENERGY = "instead, the teachers' energies and numbers of labels decide how much each of them teaches"
BY_ENSEMBLE = "instead, the student learns from the ensemble of the teachers (as with `vanilla_kd`)"


def alloy_report(context: Context, teachers: Sequence[str], options: AlloyOptions) -> MethodReport:
    """`teachers`: their names."""
    found = findings(context, teachers, options)
    return MethodReport(warnings=tuple(found["warnings"]), sections=routing_sections(found, teachers))


def findings(context: Context, names: Sequence[str], options: AlloyOptions) -> dict[str, Any]:
    """Shares of the pool by iteration, measures of states and energies, the texts that changed teacher, and warnings."""
    state = context.state
    outcome, texts, repeats = int(state["outcome"]), int(state["texts"]), int(state.get("repeats", 0))
    if len(names) == 1:
        return {"texts": texts, "warnings": []}  # one teacher has every text
    if outcome == TOO_FEW:
        least = options.least_texts(context.space)
        usable = " that do not repeat others" if repeats else ""
        return {
            "texts": texts,
            "warnings": [
                f"{counted(texts, 'text')}{usable} {'is' if texts == 1 else 'are'} too few to fit the mixture ({least:,} are needed): {BY_ENERGY}."
            ],
        }
    history, skill = state["history"].tolist(), float(state["skill"])
    examples = zip(state["examples"].tolist(), state["examples_shares"].tolist(), strict=True)
    used = outcome == ACCEPTED
    by_labels = {}
    if "labelled" in state:
        by_labels = {
            "labelled": int(state["labelled"]),
            "labelled_accuracy": float(state["labelled_accuracy"]),
            "estimated_accuracy": float(state["estimated_accuracy"]),
            "classifier_weight": float(state["label_beta"]),
        }
    return by_labels | {
        "texts": texts,
        "repeats": repeats,
        "used": used,
        "background": float(state["background_texts"]) if "background_center" in state else None,
        "background_gain": float(state["background_gain"]),
        "background_too_few": too_few_left(state),
        "shares": {name: [row[k] for row in history] for k, name in enumerate(names)},
        "changed": float(state["moved"]),
        "agreement": float(state["agreement"]),
        "inverse_temperature": float(state["inverse_temperature"]),
        "skill": skill,
        "label_agreement": float(state["label_agreement"]) if "label_agreement" in state else None,
        "teacher_agreement": float(state["teacher_agreement"]) if "teacher_agreement" in state else None,
        "separation": dict(zip(names, state["separation"].tolist(), strict=True)),
        "mean_separation": float(state["mean_separation"]),
        "by_energies": EnergyWeights.of(state, state["separation"].device) is not None,
        "clarity": dict(zip(names, state["clarity"].tolist(), strict=True)),
        "examples": [
            {"position": at, "from": names[a], "to": names[b], "share_at_first": first, "share": last}
            for (at, a, b), (first, last) in examples
        ],
        "warnings": _doubts(state, context.space.names, names, options.least_texts(context.space))
        if used
        else [_why_not(state, options, len(names)), *scale_warnings(context)],
        "instead": instead(options),
    }


def instead(options: AlloyOptions) -> str:
    """What the student learns from if the mixture was fitted and is not used."""
    return BY_ENSEMBLE + (", and from what each of them says of its own labels" if options.own_labels else "")


def _why_not(state: State, options: AlloyOptions, among: int) -> str:
    """Why a fit to enough texts is not used. among: the number of teachers."""
    if int(state["outcome"]) == NO_SKILL:
        return no_skill(float(state["skill"]), options)
    return no_agreement(float(state["label_agreement"]), float(state["teacher_agreement"]), among, options)


def no_skill(skill: float, options: AlloyOptions) -> str:
    """`options`: the method's."""
    return (
        f"the states of the texts cannot tell the labels of one teacher apart (skill {_number(skill)}, at least {MIN_SKILL:.2f} is needed), "
        f"so they cannot tell teachers apart: {instead(options)}. "
        "Perhaps the texts are not about the labels, or the encoder does not know their language. "
        "Use texts like those that the student will see, or name another encoder with the method's option `encoder`."
    )


def no_agreement(labels: float, teachers: float, among: int, options: AlloyOptions) -> str:
    """`labels`: κ of Eq. 27; `teachers`: κ′ of Eq. 31, `among` so many teachers; `options`: the method's."""
    return (
        "two views of the texts, by the teachers' states and by the encoder's, often name different labels "
        f"(κ {_number(labels)}, below {UNLIKE}) and different teachers (κ′ {_number(teachers)}, below {_number(least_agreement(among))}), so the mixture is not used: {instead(options)}. "
        "Probably the texts are not about the labels. Use texts like those that the student will see."
    )


def _doubts(state: State, labels: Sequence[str], teachers: Sequence[str], least: int) -> list[str]:
    """What may be wrong with a fit that is used. least: how many texts a fit needs."""
    first, last = state["texts_by_label"].tolist()
    found = []
    if float(state.get("label_agreement", 1.0)) < UNLIKE:
        found.append(
            f"two views of the texts, by the teachers' states and by the encoder's, often name different labels (κ {_number(float(state['label_agreement']))}, usually at least {UNLIKE}). "
            "Perhaps the texts are not about the labels, or the topic of a text says little about its label (as with labels of style). The student may learn wrong labels. "
            "Use texts like those that the student will see, and test the student with labelled texts (`evaluate`)."
        )
    if "background_center" in state:
        share, label = _most(state["background_labels"])
        found.append(
            f"{100 * float(state['background_texts']):.0f} % of the pool's texts seem to have a label that no teacher knows (the background), so they count less for the student. "
            f"Without the background, {100 * share:.0f} % of them would have the label '{labels[label]}'. If that label is right for them, set `background: false` in the method's options."
        )
    if too_few_left(state):
        found.append(
            f"many of the pool's texts seem to have a label that no teacher knows (gain {float(state['background_gain']):.1f}, a background is used from {MIN_GAIN}), but without them "
            f"fewer than {least:,} texts are left, too few to fit their labels. So the mixture has no background, and the student learns labels of the teachers for these texts. "
            "Use texts like those that the student will see, or lower the method's options `min_texts` and `texts_per_label`."
        )
    found += [
        f"teacher '{name}' gets only {100 * share:.1f} % of the pool: check that the pool has texts of its labels."
        for name, share in zip(teachers, state["history"][-1].tolist(), strict=True)
        if share < HARDLY_ANY
    ]
    found += [
        f"label '{label}' had {first[c]:.0f} texts at the start of the fit and has {last[c]:.0f} at its end: the student may not learn it."
        for c, label in enumerate(labels)
        if first[c] >= HAD and last[c] < LEFT
    ]
    return found


def _most(texts: Tensor) -> tuple[float, int]:
    """The label with the most texts, and its share. texts: [C], of each label."""
    return float(texts.max() / texts.sum().clamp(min=1)), int(texts.argmax())


def texts_that_moved(
    positions: Tensor, first: Tensor, r: Tensor, owners: Tensor, answered: Tensor | None = None
) -> dict[str, Tensor]:
    """The share of texts whose most likely label, after the fit, is unknown to the teacher of the start; the clearest of them.

    positions [n]: in the pool; first [n, N]: γ at the start; answered [n, N] bool: which teacher has an answer to which text, None: all.
    """
    k = knows_label(r, owners, answered)
    before, after = first.argmax(-1), k.argmax(-1)
    moved = ~owners[before, r.argmax(-1)]
    clearest = torch.where(moved, routing_margin(r, owners, answered), -torch.ones_like(k[:, 0])).argsort(
        descending=True, stable=True
    )
    shown = clearest[: min(EXAMPLES, int(moved.sum()))]
    who = after[shown].unsqueeze(1)
    return {
        "moved": moved.double().mean(),
        "examples": torch.stack([positions[shown], before[shown], after[shown]], -1),
        "examples_shares": torch.cat([first[shown].gather(1, who), k[shown].gather(1, who)], -1),
    }


def _number(value: float) -> str:
    """With two decimals, and a minus sign in place of a hyphen."""
    return f"{value:.2f}".replace("-", "−")


def _left_out(found: Mapping[str, Any]) -> str:
    """With a space at its start. Empty if no text repeats others."""
    if not found["repeats"]:
        return ""
    return f" ({found['repeats']:,} more were left out, because each is nearly the same as at least {KEPT} others)"


def _two_views(found: Mapping[str, Any]) -> bool:
    """Whether there are two kinds of states, so that κ and κ′ are known."""
    return None not in (found["label_agreement"], found["teacher_agreement"])


def _agreement_sentence(found: Mapping[str, Any]) -> str:
    """With a space at its end. Empty if there is one kind of states."""
    if not _two_views(found):
        return ""
    return (
        "Two other fits, one to the teachers' states and one to the encoder's, agree about the labels of the texts with "
        f"κ = {_number(found['label_agreement'])} (1: always, 0: as often as by chance; below {UNLIKE} perhaps the texts are not about the labels, or the topic of a text says little about its label), "
        f"and about their teachers with κ′ = {_number(found['teacher_agreement'])} (if κ is below {UNLIKE} and κ′ below {_number(least_agreement(len(found['separation'])))}, the mixture is not used). "
    )


def _energies_sentence(found: Mapping[str, Any]) -> str:
    """With a space at its end."""
    mean = found["mean_separation"]
    if found["by_energies"]:
        return f"The mean over the texts is {mean:.1f}, at least {CLEAR}: the energies are clear, so a text whose energies contradict its teacher hardly counts. "
    return f"The mean over the texts is {mean:.1f}, less than {CLEAR}: how much a text counts does not depend on its energies. "


def _background_sentence(found: Mapping[str, Any]) -> str:
    measures = f"gain {found['background_gain']:.1f}, used from {MIN_GAIN}"
    if found["background_too_few"]:
        return f"It has no background, because too few texts would be left outside of it ({measures})."
    if found["background"] is None:
        return f"It has no background: nothing shows that many texts have a label that no teacher knows ({measures})."
    return (
        f"{100 * found['background']:.1f} % of the texts are background: they seem to have a label that no teacher knows ({measures}). "
        "All other figures of this section are about the rest."
    )


def routing_sections(found: Mapping[str, Any], teachers: Sequence[str]) -> tuple[Section, ...]:
    """`found`: `findings`; no section where nothing was fitted."""
    if "shares" not in found:
        return ()
    shares, used = found["shares"], found["used"]
    parts: list[Text | Table | Series] = []
    if not used:
        parts.append(Text(text=f"The fitted mixture is not used; {found['instead']}. The warnings say why."))
    parts += [
        _of_fit(found),
        _of_teachers(found, teachers),
        Text(
            text="Separation of the energy: how many standard deviations a teacher's energy is higher on the texts that it knows than on the others. If it is near 0, "
            f"the energy does not help the routing. {_energies_sentence(found)}Clarity: 1 if the teacher's answers have probability 1, 0 if it guesses. The smaller the clarity, the more the label "
            "comes from the mixture and not from the teacher's own answer."
        ),
        Series.of_many(
            caption="Share of the pool that is routed to each teacher: from the teachers' energies alone (iteration 0), and after each iteration of the fit.",
            x="iteration",
            y="texts (%)",
            points=tuple(range(len(shares[teachers[0]]))),
            lines=shares,
            percent=True,
        ),
    ]  # fmt: skip
    if "labelled" in found:
        parts.append(_of_labelled_texts(found))
    if used and found["examples"]:
        parts.append(_moved_texts(found))
    return (Section(title="Routing", parts=tuple(parts)),)


def _of_fit(found: Mapping[str, Any]) -> Text:
    return Text(
        text=f"The mixture was fitted to {found['texts']:,} texts of the pool{_left_out(found)}. {100 * found['changed']:.1f} % of them {'were' if found['used'] else 'would be'} "
        "routed to another teacher than at the start of the fit, which uses only the teachers' energies. "
        f"Two more fits see half of the pool each. The one that did not see a text sends it to the same teacher in {100 * found['agreement']:.1f} % of the cases. "
        f"These two fits also calibrate the routing: its log-odds are multiplied by {found['inverse_temperature']:.2f}. "
        f"The states tell the labels of one teacher apart with a skill of {_number(found['skill'])} (1: always, 0: no better than chance; "
        f"below {MIN_SKILL:.2f} the mixture is {'used only if κ is at least ' + str(UNLIKE) if _two_views(found) else 'not used'}). {_agreement_sentence(found)}{_background_sentence(found)}"
    )


def _of_teachers(found: Mapping[str, Any], teachers: Sequence[str]) -> Table:
    shares = found["shares"]
    return Table(
        caption="Teachers in the mixture",
        columns=("teacher", "share at the start", "share at the end", "separation of the energy", "clarity"),
        rows=tuple(
            (name, shares[name][0], shares[name][-1], found["separation"][name], found["clarity"][name])
            for name in teachers
        ),
        percent=("share at the start", "share at the end"),
    )


def _of_labelled_texts(found: Mapping[str, Any]) -> Text:
    return Text(
        text=f"{found['labelled']:,} labelled texts are anchors of the mixture. The routing has an accuracy of "
        f"{100 * found['labelled_accuracy']:.1f} % on them (each is tested with a fit without it). Its estimated accuracy on the pool is {100 * found['estimated_accuracy']:.1f} %. "
        f"The classifier that is trained on them has a weight of {found['classifier_weight']:.2f} (0: only the mixture counts)."
    )


def _moved_texts(found: Mapping[str, Any]) -> Table:
    examples = found["examples"]
    return Table(
        caption="Texts that changed teacher, the clearest first, with the new teacher's weight before the fit and after it",
        columns=("from", "to", "before", "after"),
        rows=tuple((e["from"], e["to"], e["share_at_first"], e["share"]) for e in examples),
        percent=("before", "after"),
        positions=tuple(e["position"] for e in examples),
    )
