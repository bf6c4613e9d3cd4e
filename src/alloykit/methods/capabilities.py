"""Which teachers lack what a method needs, and which methods remain for some teachers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import ValidationError

from alloykit.errors import AlloyError
from alloykit.methods.inputs import Gives, Needs
from alloykit.methods.protocol import Context, Method, ModelShape
from alloykit.methods.registry import create, methods

STAND_IN = ModelShape(8, 12)  # the shape of a teacher without states, to ask a method whether it wants some


def lacking(method: Method, gives: Mapping[str, Gives], context: Context) -> list[str]:
    """One line for each thing that the method needs and a teacher does not give. gives: by teacher's name. context: with space and student."""
    needs = method.needs
    found = [
        f"teacher '{name}' with a {'multi-label' if g.multi_label else 'single-label'} head"
        for name, g in gives.items()
        if g.multi_label != needs.multi_label and needs.teachers
    ]
    if needs.passes:
        found += [f"teacher '{name}' gives no Monte-Carlo passes" for name, g in gives.items() if not g.passes]
    states = (needs.pooled_states and not needs.states_optional) or needs.token_states or needs.attention_scores
    if states:
        shapes = tuple(g.states or STAND_IN for g in gives.values())
        layers = method.teacher_layers(replace(context, teachers=shapes, student=context.student or STAND_IN))
        online = needs.token_states or needs.attention_scores
        for (name, g), asked in zip(gives.items(), layers, strict=True):
            if asked and (g.states is None or (online and not g.model)):
                found.append(f"teacher '{name}' gives no {'token ' if online else ''}states")
    if _nothing_to_read(needs, gives):
        found.append("no teacher gives states, and the method has no encoder")
    if needs.phase_data:
        found += [f"teacher '{name}' is not a model of transformers" for name, g in gives.items() if not g.model]
    return found


def _nothing_to_read(needs: Needs, gives: Mapping[str, Gives]) -> bool:
    """Whether there are no states at all, though the method compares texts by states. With one teacher there is nothing to compare."""
    optional = needs.pooled_states and needs.states_optional and needs.text_states is None
    return optional and len(gives) > 1 and all(g.states is None for g in gives.values())


def remaining(gives: Mapping[str, Gives], context: Context, *, has_labels: bool) -> list[str]:
    """The methods, by name, that these teachers and texts are enough for; "muka (passes: 0)" where only other options than its defaults will do."""
    found, same_labels = [], bool(context.space.has_label().all())
    for name in methods():
        for options in ({}, {"passes": 0}):
            try:
                method = create({"name": name, **options})
            except (AlloyError, ValidationError):
                continue
            enough = len(gives) >= method.needs.teachers and (has_labels or not method.needs.labels)
            fits = same_labels or not (method.one_task and method.needs.teachers)
            if enough and fits and not lacking(method, gives, context):
                found.append(f"{name} (passes: 0)" if options else name)
                break
    return found


def require_gives(method: Method, gives: Mapping[str, Gives], context: Context, *, has_labels: bool) -> None:
    """AlloyError, with the methods that remain, if a teacher does not give what the method needs."""
    if problems := lacking(method, gives, context):
        others = ", ".join(remaining(gives, context, has_labels=has_labels))
        hint = f"Leave these teachers out, or take another method: {others}."
        if any(g.multi_label for g in gives.values()):
            hint = "Teachers with a multi-label head have `method: multi_label`, all together."
        elif _nothing_to_read(method.needs, gives):
            hint = f"Name an encoder in the method's `encoder:`, leave `encoder: null` out, or take another method: {others}."
        raise AlloyError(
            expected=f"teachers that give what method '{method.name}' needs ({method.needs.describe()})",
            got="; ".join(problems),
            hint=hint,
        )
