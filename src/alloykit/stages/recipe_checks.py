"""What is checked of a recipe before anything is computed. Each error says which setting does not fit the method, the teachers, the engine or the device."""

from __future__ import annotations

from collections.abc import Sequence

from alloykit.data import Texts
from alloykit.engines.engine_options import EngineOptions
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.capabilities import require_gives
from alloykit.methods.defaults import AMALGAMATION
from alloykit.methods.protocol import Context, Method
from alloykit.methods.requirements import require
from alloykit.models.long_texts import in_training
from alloykit.recipe.recipe import Recipe
from alloykit.stages.recipe_texts import label_positions
from alloykit.teachers.protocol import TeacherInfo


def require_needs(method: Method, recipe: Recipe, infos: Sequence[TeacherInfo], context: Context, texts: Texts) -> None:
    """AlloyError if teachers, texts or settings lack what the method needs. context: label space, and the shape of the student."""
    require(method, n_teachers=len(infos), has_labels=texts.has_labels)
    require_gives(method, {info.name: info.gives for info in infos}, context, has_labels=texts.has_labels)
    _require_dropout(method, infos)
    if method.needs.labels:
        label_positions(texts, context.space, recipe.labels.aliases)
    _require_validation(recipe, method)
    if method.needs.token_states:
        _require_whole_beginnings(recipe, infos, method)


def refuse_for_multi_label(recipe: Recipe, space: LabelSpace) -> None:
    """AlloyError for what a recipe with multi-label teachers cannot have."""
    if space.catch_all:
        raise AlloyError(
            expected="teachers that give each text one label, for `labels: {catch_all: …}`",
            got="multi-label teachers",
            hint="Leave it out: of a text without labels, a multi-label teacher gives each label a small probability.",
        )
    if recipe.generation is not None:
        raise AlloyError(
            expected="texts in a file, for multi-label teachers",
            got="`generation:`",
            hint="It writes texts for one label at a time. Name texts of your own with `texts:`.",
        )


def refuse_int8_on_gpu(recipe: Recipe, device: str) -> None:
    """AlloyError for int8 teachers that do not read on a CPU. device: of this process."""
    if recipe.inference.int8 and recipe.engine.device(device, recipe.device) != "cpu":
        raise AlloyError(
            expected="teachers on a CPU for `inference: {int8: true}`",
            got=f"device {device}",
            hint="On a GPU leave int8 out: bfloat16 is fast there. Or set `device: cpu`.",
        )


def require_engine(engine: EngineOptions, infos: Sequence[TeacherInfo]) -> None:
    """AlloyError if a teacher cannot be sent to the engine's workers."""
    if engine.name == "local":
        return
    for info in infos:
        if info.spec.bound is not None:
            raise AlloyError(
                expected=f"teachers that workers can load, for `engine: {engine.name}`",
                got=f"teacher '{info.name}': {info.spec.bound}",
                hint="Use `engine: local`, save the teacher in a folder or file that all workers see, or join stored answers with `by: text`.",
            )


def _require_dropout(method: Method, infos: Sequence[TeacherInfo]) -> None:
    """AlloyError for a teacher without dropout, if the method samples passes at the teachers' own rates."""
    if not method.needs.passes or method.needs.dropout is not None:
        return
    for info in infos:
        if not info.gives.dropout:
            raise AlloyError(
                expected=f"dropout rates in teacher '{info.name}', for {method.needs.passes} Monte-Carlo passes",
                got="rates of 0 in its configuration",
                hint="Set one in the recipe, `method: {dropout: 0.1}`, or use `passes: 0` for the plain entropy.",
            )


def _require_validation(recipe: Recipe, method: Method) -> None:
    """AlloyError for a recipe without validation texts that needs them."""
    needed = method.needs.validation
    if recipe.validation is not None or not (needed or recipe.training.select == "labelled"):
        return
    why = f"method '{method.name}' needs them" if needed else "`training.select` is 'labelled'"
    raise AlloyError(
        expected=f"labelled texts in `validation: {{data: …}}`, because {why}",
        got="none",
        hint="Give them." if needed else "Give them, or select without labels: `select: unlabelled`.",
    )


def _require_whole_beginnings(recipe: Recipe, infos: Sequence[TeacherInfo], method: Method) -> None:
    """AlloyError unless teachers and student read the beginning of a text: states of tokens are aligned from there on."""
    read = {
        f"teacher '{info.name}'": info.reads(recipe.training.max_length, recipe.inference.long_texts)[1]
        for info in infos
    }
    for who, long_texts in (read | {"the student": in_training(recipe.training.long_texts)}).items():
        if long_texts != "head":
            raise AlloyError(
                expected=f"`long_texts: head` of {who}, because method '{method.name}' compares the states of tokens",
                got=long_texts,
                hint=f"Set it to head, or take a method that compares no states of tokens, such as {AMALGAMATION}.",
            )
