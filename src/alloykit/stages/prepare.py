"""The first part of every command: read the teachers' configurations, join labels, read texts, check needs. Loads no weights, writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from alloykit.data import Texts, load_texts
from alloykit.errors import AlloyError
from alloykit.knowledge.abstention import Abstention
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, ModelShape
from alloykit.methods.registry import create
from alloykit.methods.requirements import require_few_labels
from alloykit.models.device import pick_device
from alloykit.models.loading import load_config
from alloykit.models.token_states import encoder_shape
from alloykit.names import refuse_placeholders
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.stages.label_names import with_usual_catch_all
from alloykit.stages.prepared import Prepared, phase_examples
from alloykit.stages.recipe_checks import refuse_for_multi_label, refuse_int8_on_gpu, require_engine, require_needs
from alloykit.stages.recipe_texts import (
    origin_of,
    read,
    salted,
    wants_labels,
)
from alloykit.teachers.protocol import TeacherInfo, TeacherSpec
from alloykit.teachers.unique_names import unique_names
from alloykit.temporary.row_index import Ids
from alloykit.training.more_arguments import more_arguments
from alloykit.training.schedule import with_defaults
from alloykit.training.student import layers_to_keep
from alloykit.training.training_options import StudentSpec


def prepare(recipe: Recipe, texts: Texts | None = None, *, pool: bool = True) -> Prepared:
    """Check a recipe with its teachers, texts and device. AlloyError.

    texts: use these instead of the recipe's `texts:`. pool: False if they are not the recipe's texts, whose rows stored answers know.
    """
    method = create(recipe.method)
    infos, space = teachers_and_labels(recipe.teachers, recipe.labels)
    if not method.needs.multi_label:
        space = with_usual_catch_all(space, recipe.labels)
    student_shape = student_shape_of(_student(recipe)) if method.phases() else None
    more_arguments(recipe.training.arguments)
    require_engine(recipe.engine, infos)
    if method.needs.multi_label:
        refuse_for_multi_label(recipe, space)
    texts = texts if texts is not None else _read_texts(recipe, method)
    require_needs(method, recipe, infos, Context(space, student=student_shape), texts)
    if pool:
        infos = [info.with_texts(texts) for info in infos]
    device = pick_device(recipe.device)
    refuse_int8_on_gpu(recipe, device)
    if student_shape is not None:
        n = phase_examples(recipe, method, space, len(texts))
        training = with_defaults(recipe.training, n, space.size, student_shape.layers, student_shape.hidden_size)
        recipe = recipe.model_copy(update={"training": training})
    return Prepared(recipe, infos, space, method, texts, device, student_shape)


def _read_texts(recipe: Recipe, method: Method) -> Texts:
    """The recipe's texts. An AlloyError about a missing column of labels also says why the labels are needed."""
    labels = wants_labels(recipe, method)
    try:
        return read(origin_of(recipe), want_labels=labels)
    except AlloyError as error:
        if not labels or "column" not in error.expected:
            raise
        why = f"{error.expected}, because method '{method.name}' learns from true labels"
        raise AlloyError(expected=why, got=error.got, hint=error.hint) from error


def teachers_and_labels(teachers: Sequence[TeacherSpec], labels: LabelOptions) -> tuple[list[TeacherInfo], LabelSpace]:
    """The teachers, without their weights, and the union of their labels. AlloyError."""
    infos = [spec.describe(name) for spec, name in zip(teachers, unique_names(teachers), strict=True)]
    for info in infos:
        refuse_placeholders(info.labels, info.name)
    space = LabelSpace.union(
        [info.labels for info in infos],
        aliases=labels.aliases,
        teacher_names=[info.name for info in infos],
        keep_apart=labels.keep_apart,
        catch_all=labels.catch_all or (),
    )
    return infos, space


def prepare_without_texts(recipe: Recipe, tables: Mapping[str, Texts] | None) -> Prepared:
    """`prepare` and `with_labelled_texts` with one text per label instead of the texts that are not generated yet.

    Generation takes hours, so errors in the recipe must show before it. The number of epochs does not depend on these texts. AlloyError.
    """
    return replace(with_labelled_texts(prepare_for_texts_to_come(recipe), tables or {}), recipe=recipe)


def prepare_for_texts_to_come(recipe: Recipe) -> Prepared:
    """`prepare` with one text per label instead of the recipe's texts, which are not read. AlloyError."""
    _, space = teachers_and_labels(recipe.teachers, recipe.labels)
    shown = load_texts([{"text": f"a text of {name}", "label": name} for name in space.names], want_labels=True)
    return prepare(recipe, shown, pool=False)


def with_labelled_texts(prepared: Prepared, tables: Mapping[str, Texts] | None) -> Prepared:
    """With the recipe's validation texts, test texts and few labelled texts. `tables`: those in memory, by the keys of the recipe.

    AlloyError for texts that cannot be read or have labels that no teacher knows, also if no stage uses them."""
    recipe, found = prepared.recipe, dict[str, Texts]()
    if recipe.labelled is not None:
        require_few_labels(prepared.method)
    blocks = {"validation": recipe.validation, "labelled": recipe.labelled, "evaluate": recipe.evaluate}
    for name, block in blocks.items():
        if block is not None:
            in_memory = (tables or {}).get(name)
            found[name] = in_memory if in_memory is not None else read(salted(block.data, recipe), want_labels=True)
            prepared.labels(found[name])
    asked = prepared.method.needs.validation or recipe.training.select == "labelled"
    return replace(
        prepared,
        validation=found.get("validation") if asked else None,
        labelled=found.get("labelled"),
        test=found.get("evaluate"),
    )


def stored(
    prepared: Prepared, store: Store, ids: Ids, labels: Tensor | None = None, *, answers_only: bool = False
) -> StoredKnowledge:
    """The stored outputs for some texts that the method needs. answers_only: without Monte-Carlo passes and states."""
    return StoredKnowledge(
        store,
        prepared.names,
        ids,
        passes=0 if answers_only else prepared.method.needs.passes,
        labels=labels,
        layers={} if answers_only else prepared.pooled_layers,
        abstention=Abstention(prepared.space) if prepared.space.catch_all else None,
    )


def _student(recipe: Recipe) -> StudentSpec:
    """The recipe's `student:`. AlloyError if there is none."""
    if recipe.student is None:
        raise AlloyError(
            expected=f"a `student:` for method '{recipe.method['name']}'",
            got="none",
            hint="For instance `student: {model: bundled:minilm, layers: 3}`.",
        )
    return recipe.student


def student_shape_of(spec: StudentSpec) -> ModelShape:
    """The shape of the student that `build_student` builds, from the encoder's configuration only.

    AlloyError for a model that is not an encoder, and for too few layers."""
    shape = encoder_shape(load_config(spec)[0], spec.model)
    return replace(shape, layers=len(layers_to_keep(shape.layers, spec)))
