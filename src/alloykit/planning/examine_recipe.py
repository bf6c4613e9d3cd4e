"""Check a recipe for `alloykit doctor`: each teacher, the texts, and the time of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.escape import visible
from alloykit.methods.registry import create
from alloykit.models.device import pick_device
from alloykit.names import counted, quoted, short
from alloykit.planning.finding import Finding
from alloykit.planning.plan_run import plan_recipe, plan_several
from alloykit.precision import native_bfloat16
from alloykit.progress import duration, log_line, rate
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.texts_origin import GENERATE
from alloykit.run_folder.run_folder import check_run_folder
from alloykit.stages.recipe_texts import origin_of, read, wants_labels
from alloykit.teachers.protocol import Reading, TeacherSpec
from alloykit.teachers.unique_names import unique_names

FIRST, CHARACTERS = 3, 80  # texts that are shown, and characters of each
SLOW = 60.0  # seconds; a shorter run gets no hints to make it faster


def examine_recipe(recipe: Recipe, *, probe: bool = True) -> tuple[list[Finding], dict[str, Any] | None]:
    """Checks of a recipe, and its plan if it can run. probe: let every model read a few batches, to predict the time."""
    checks = list(_teachers(recipe))
    checks += _texts(recipe)
    try:
        check_run_folder(Path(recipe.output))
    except AlloyError as error:
        checks.append(Finding.of_error("output", error))
    known = {check.found for check in checks if check.level == "error"}
    try:
        plan = plan_recipe(recipe, probe=probe and not known)
    except AlloyError as error:
        found = Finding.of_error("recipe", error)
        return [*checks, *([] if found.found in known else [found])], None
    checks += [Finding("method", warning, "note") for warning in plan.get("warnings", ())]
    if "texts" in plan and plan["seconds"] is not None:
        checks += _time(recipe, plan)
    return checks, plan


def examine_questions(recipe: QuestionsRecipe, *, probe: bool) -> tuple[list[Finding], dict[str, Any] | None]:
    """The checks of every question, and the plan of all if the recipe can run. probe: as for `examine_recipe`."""
    checks: list[Finding] = []
    for name in recipe.questions:
        found, _ = examine_recipe(recipe.question(name), probe=False)
        checks += [replace(check, name=f"{name}: {check.name}") for check in found]
    if any(check.level == "error" for check in checks):
        return checks, None
    try:
        return checks, plan_several(recipe, probe=probe)
    except AlloyError as error:
        return [*checks, Finding.of_error("recipe", error)], None


def _teachers(recipe: Recipe) -> Iterator[Finding]:
    """One check for each teacher, which is loaded alone."""
    try:
        names = unique_names(recipe.teachers)
    except AlloyError as error:
        yield Finding.of_error("teachers", error)
        return
    for spec, name in zip(recipe.teachers, names, strict=True):
        log_line(f"loading teacher {name}")
        try:
            yield _teacher(recipe, spec, name)
        except AlloyError as error:
            yield Finding.of_error(f"teacher {name}", error)


def _teacher(recipe: Recipe, spec: TeacherSpec, name: str) -> Finding:
    """Its labels and what it is, with a note if it reads fewer tokens than the recipe says."""
    info = spec.describe(name)
    long_texts = recipe.inference.long_texts
    wanted, _ = info.reads(recipe.training.max_length, long_texts)
    teacher = info.load(Reading(max_length=wanted, long_texts=long_texts, device=pick_device(recipe.device)))
    labels = f"{counted(len(info.labels), 'label')} ({', '.join(short(label) for label in info.labels[:8])}{', …' if info.labels[8:] else ''})"
    found = f"{labels}, {teacher.described}"
    if getattr(teacher, "max_length", wanted) < wanted:
        hint = (
            f"`max_length` is {wanted}: longer texts are cut for this teacher. Its model or tokenizer sets this limit."
        )
        return Finding(f"teacher {name}", found, "note", hint)
    return Finding(f"teacher {name}", found)


def _texts(recipe: Recipe) -> Iterator[Finding]:
    """Numbers and first rows of the texts."""
    if recipe.texts == GENERATE:
        yield Finding("texts", "a language model writes them (`texts: generate`)")
        return
    try:
        texts = read(origin_of(recipe), want_labels=wants_labels(recipe, create(recipe.method)))
    except AlloyError as error:
        yield Finding.of_error("texts", error)
        return
    yield _texts_found(texts)
    rows = texts.table.take(list(range(min(FIRST, len(texts)))), texts.text_columns)
    for i, text in enumerate(rows["text"]):
        pair = (rows.get("text_pair") or [None] * FIRST)[i]
        shown = " | ".join(_cut(part) for part in (text, pair) if part is not None)
        yield Finding(f"text {i}", shown)


def _texts_found(texts: Texts) -> Finding:
    found = f"{counted(len(texts), 'text')}, {len(texts) - texts.duplicates:,} of them distinct"
    if texts.dropped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in texts.dropped.items())
        hint = "These rows are left out. Correct them, or name another column with `texts: {text: …}`."
        return Finding("texts", f"{found}; dropped: {reasons}", "note", hint)
    return Finding("texts", found)


def _cut(text: str) -> str:
    shown = visible(text[:CHARACTERS])
    return f"{shown}…" if text[CHARACTERS:] else shown


def _time(recipe: Recipe, plan: dict[str, Any]) -> Iterator[Finding]:
    """How long a run takes, and what makes it slow."""
    seconds, texts = plan["seconds"], plan["texts"]["distinct"]
    total = sum(seconds.values())
    for teacher in plan["teachers"] if seconds["sweep"] else ():
        if "seconds" not in teacher:
            continue
        each = f"{counted(texts, 'text')} × {counted(teacher['reads'] // max(texts, 1), 'read')}"
        spent = f"{rate(teacher['reads_per_second'])} reads per second, about {duration(teacher['seconds'])}"
        yield Finding(f"time of {teacher['name']}", f"{each}, {spent}")
    found = f"about {duration(total)}: teachers {duration(seconds['sweep'])}, training {duration(seconds['training'])}"
    hints = list(_faster(recipe, plan)) if total > SLOW else []
    yield Finding("time", found, "note" if hints else "ok", " ".join(hints))


def _faster(recipe: Recipe, plan: dict[str, Any]) -> Iterator[str]:
    """What would make the run faster, the most important first."""
    seconds, texts = plan["seconds"], plan["texts"]["distinct"]
    passes = sum(t["reads"] for t in plan["teachers"]) / max(texts * len(plan["teachers"]), 1) - 1
    on_cpu = pick_device(recipe.device) == "cpu"
    timed = [t for t in plan["teachers"] if "seconds" in t]  # a service is not measured
    if timed and seconds["sweep"] >= seconds["training"]:
        if passes >= 1:
            yield f"Each teacher reads each text {passes + 1:.0f} times because of Monte-Carlo passes. Method alloy needs none."
        slowest = max(timed, key=lambda t: t["seconds"])
        if slowest["seconds"] > 0.6 * seconds["sweep"] and len(timed) > 1:
            yield f"Teacher {quoted([slowest['name']])} needs most of the time."
        if on_cpu and not native_bfloat16("cpu") and not recipe.inference.int8:
            yield "Set `inference: {int8: true}`: this CPU has no fast bfloat16."
        if max(t["tokens_each"] for t in timed) > 0.7 * recipe.training.max_length:
            yield "Most texts are as long as `max_length`. A lower `max_length` saves time in proportion."
        yield "Several machines can share the work: `alloykit sweep --part 1/4`."
    elif plan["student_training"] is not None:
        yield f"The student learns for {counted(plan['student_training']['epochs'], 'epoch')}. Fewer `epochs`, or fewer `layers` of the student, save time in proportion."
    if on_cpu:
        yield "A GPU is many times as fast."
