"""What `plan`, `doctor`, `methods`, `update` and `watch` print."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table

from alloykit.methods.protocol import Needs
from alloykit.methods.registry import create, method_class, methods
from alloykit.names import NAMED, counted, first_of
from alloykit.progress import duration, rate
from alloykit.recipe.recipe import Recipe
from alloykit.terminal import plain

if TYPE_CHECKING:
    from alloykit.reporting.verdict import Verdict

GROUPS = (
    "amalgamation without labels",
    "amalgamation without texts",
    "distillation with labels",
    "baselines without teachers",
)


def method_table() -> list[dict[str, str]]:
    """Group, name, title, reference and needs of every method, group by group."""
    rows = []
    for name, m in methods().items():
        needs = create(name).needs
        row = {"name": name, "title": m.title, "reference": m.reference, "needs": needs.describe()}
        rows.append(row | {"group": group_of(needs)})
    return sorted(rows, key=lambda row: GROUPS.index(row["group"]))


def group_of(needs: Needs) -> str:
    """The group in which a method is listed, one of GROUPS. It follows from what the method needs, so methods of other packages have one too."""
    if not needs.teachers:
        return GROUPS[3]
    if needs.generated_texts or needs.phase_data:
        return GROUPS[1]
    return GROUPS[2] if needs.labels else GROUPS[0]


def method_details(name: str) -> dict[str, Any]:
    """One method's options with types, defaults and meaning. AlloyError for an unknown name."""
    method = method_class(name)
    options = [
        {
            "name": key,
            "default": str(field.default),
            "type": _type(field.annotation),
            "meaning": " ".join((field.description or "").split()),
        }
        for key, field in method.Options.model_fields.items()
    ]
    if method.default_inner is not None:
        options.append(
            {
                "name": "of",
                "default": method.default_inner,
                "type": "method",
                "meaning": "The method whose target is used.",
            }
        )
    return {
        "name": name,
        "title": method.title,
        "reference": method.reference,
        "needs": create(name).needs.describe(),
        "about": inspect.getdoc(method),
        "options": options,
    }


def method_view(shown: list[dict[str, str]] | dict[str, Any]) -> Table:
    """The result of `method_table` or `method_details` as a table for the terminal."""
    if isinstance(shown, list):
        default = Recipe.model_fields["method"].default["name"]
        out = Table(title=f"The default is {default}. `alloykit methods NAME` shows the options of a method.")
        for heading in ("name", "what it is", "reference", "needs"):
            out.add_column(heading, no_wrap=heading == "name")
        for before, row in zip([None, *shown], shown, strict=False):
            if before is None or before["group"] != row["group"]:
                out.add_section()
                out.add_row("", f"[bold]{row['group']}[/]")
            out.add_row(*(plain(row[key]) for key in ("name", "title", "reference", "needs")))
        return out
    out = Table(title=plain(f"{shown['title']} ({shown['reference']}). Needs: {shown['needs']}"))
    for heading in ("option", "default", "type", "meaning"):
        out.add_column(heading, no_wrap=heading == "option")
    for option in shown["options"]:
        out.add_row(*(plain(option[key]) for key in ("name", "default", "type", "meaning")))
    return out


def plan_lines(plan: dict[str, Any]) -> list[str]:
    """A plan as lines of text."""
    if "texts" not in plan:
        known = f"labels: {len(plan['labels']):,}: {first_of(plan['labels'])}"
        then = f"then: method {plan['method']['name']}; run plan again when the texts are written"
        return [known, *_generation_lines(plan["generation"]), then, f"output: {plan['output']}"]
    lines = [f"method: {plan['method']['name']} (needs {plan['needs'] or 'nothing'})"]
    lines.append(f"labels: {len(plan['labels']):,}: {first_of(plan['labels'])}")
    shared = [f"  '{label}' is shared by {first_of(owners)}" for label, owners in plan["shared_labels"].items()]
    lines += shared[:NAMED] + ([f"  {len(shared) - NAMED:,} more labels are shared"] if shared[NAMED:] else [])
    lines += [f"  '{label}' means 'none of the teacher's other labels' (catch_all)" for label in plan["catch_all"]]
    texts = plan["texts"]
    dropped = "".join(f", {n:,} dropped ({reason})" for reason, n in texts["dropped"].items())
    lines.append(f"texts: {texts['used']:,} ({texts['distinct']:,} distinct{dropped})")
    for t in plan["teachers"]:
        line = f"teacher {t['name']}: {first_of(t['labels'])}: {t['reads']:,} reads"
        if "seconds" in t:
            tokens = f" of {t['tokens_each']:.0f} tokens" if t["tokens_each"] else ""
            line += f"{tokens}, {rate(t['reads_per_second'])}/s, about {duration(t['seconds'])}"
        if "requests" in t:
            line += _requests(t)
        lines.append(line)
        if plan["methods"] is not None:
            lines.append(f"  gives {t['gives']}")
    if plan["methods"] is not None:
        lines.append(f"methods for these teachers: {', '.join(plan['methods'])}")
    lines += _generation_lines(plan["generation"]) if "generation" in plan else []
    if plan["text_states"]:
        about = f", about {duration(plan['seconds']['text_states'])}" if plan["seconds"] else ""
        lines.append(
            f"states of the texts: {plan['text_states']['reads']:,} reads{about}, {plan['text_states']['bytes'] / 1e6:,.1f} MB"
        )
    if plan["cache_bytes"]:
        lines.append(f"teachers' outputs: at most {plan['cache_bytes'] / 1e6:,.1f} MB")
    lines += _student_lines(plan)
    lines += [f"warning: {warning}" for warning in plan["warnings"]]
    return [*lines, f"output: {plan['output']}"]


def questions_plan_lines(plan: dict[str, Any]) -> list[str]:
    """A plan with several questions as lines of text."""
    lines = []
    for name, asked in plan["questions"].items():
        *own, _ = plan_lines(asked | {"student_steps": 0, "seconds": None})  # without training and output
        lines += [f"question {name}:", *(f"  {line}" for line in own)]
    lines.append(f"labels of the student: {len(plan['labels']):,}")
    return [*lines, *_student_lines(plan), f"output: {plan['output']}"]


def _student_lines(plan: dict[str, Any]) -> list[str]:
    """The lines about the student's training and the whole time."""
    lines = []
    if plan["student_steps"]:
        about = f", about {duration(plan['seconds']['training'])}" if plan["seconds"] else ""
        how = plan["student_training"]
        rule = " (chosen by alloykit; set others in `training:`)" if how["by_rule"] else ""
        lines.append(f"student: {counted(plan['student_steps'], 'step')}{about}")
        lines.append(f"  {counted(how['epochs'], 'epoch')}, learning rate {how['learning_rate']:g}{rule}")
    if plan["seconds"]:
        total = duration(sum(plan["seconds"].values()))
        lines.append(f"in all about {total} (from a probe of {plan['probe_seconds']:.0f} s on this machine)")
    return lines


def doctor_lines(found: dict[str, Any]) -> list[str]:
    """What `alloykit doctor` found, as lines of text. What to do is in a line of its own."""
    lines = []
    for check in found["checks"]:
        sign = "" if check["level"] == "ok" else f"{check['level']}: "
        lines.append(f"{sign}{check['name']}: {check['found']}")
        lines += [f"  {check['hint']}"] if check["hint"] else []
    errors = sum(check["level"] == "error" for check in found["checks"])
    if errors:
        return [*lines, f"cannot run: {errors} error{'s' if errors > 1 else ''}"]
    about = f" in about {duration(found['seconds'])}" if found["seconds"] is not None else ""
    return [*lines, f"can run{about}"]


def _requests(teacher: dict[str, Any]) -> str:
    """What a service would be asked, as the end of a line."""
    line = f", {teacher['requests']:,.0f} requests with the probe texts"
    if teacher["most_requests"] > teacher["requests"]:
        line += f" (up to {teacher['most_requests']:,.0f} if the service gives one answer each time)"
    if "cost" in teacher:
        line += f", cost {teacher['cost']:,.2f}"
    if teacher.get("allowed_requests", math.inf) < teacher["requests"]:
        line += f": more than the {teacher['allowed_requests']:,.0f} requests that its limits allow"
    return line


def _generation_lines(generation: dict[str, Any]) -> list[str]:
    """The lines about texts that must still be generated."""
    lines = []
    for name, texts in generation["texts"].items():
        reads = texts * generation["reads_each"]
        steered = f", steered by at most {reads:,} short reads of the teacher" if reads else ""
        lines.append(f"texts for teacher {name}: {texts:,} by {generation['language_model']}{steered}")
    return lines


def _type(annotation: Any) -> str:
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(inside[0])
    if origin is typing.Literal:
        return " | ".join(map(str, inside))
    if origin in (typing.Union, types.UnionType):
        return " | ".join("None" if part is type(None) else _type(part) for part in inside)
    if isinstance(annotation, type) and not inside:
        return annotation.__name__
    return str(annotation).replace("typing.", "")


def changes_lines(found: Mapping[str, Any]) -> list[str]:
    """What an update changed, as lines."""
    from alloykit.reporting.changes import summary_of_changes

    return _by_question(found, summary_of_changes)


def watch_lines(found: Mapping[str, Any]) -> list[str]:
    """How new texts differ from the pool, as lines."""
    from alloykit.reporting.drift_page import summary_of_drift

    return _by_question(found, summary_of_drift)


def _by_question(found: Mapping[str, Any], summary_of: Callable[[Mapping[str, Any]], Verdict]) -> list[str]:
    """Headline and points; of a run with several questions, those of each."""
    if "questions" in found:
        return [
            line
            for name, own in found["questions"].items()
            for line in (f"question {name}:", *_by_question(own, summary_of))
        ]
    summary = summary_of(found)
    return [summary.headline, *(f"- {point}" for point in summary.points)]
