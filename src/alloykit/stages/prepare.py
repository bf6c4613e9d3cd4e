"""The first part of every command: read the teachers' configurations, join labels, read texts, check needs. Loads no weights, writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.data import Texts, load_texts
from alloykit.engines.choose import sweep_engine
from alloykit.errors import AlloyError
from alloykit.knowledge.abstention import Abstention
from alloykit.knowledge.online.encoder_states import EncoderReading
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, ModelShape
from alloykit.methods.registry import create
from alloykit.methods.requirements import require_few_labels
from alloykit.models.compute_format import ComputeFormat
from alloykit.models.device import pick_device
from alloykit.models.loading import load_config
from alloykit.models.token_states import encoder_shape
from alloykit.names import refuse_placeholders
from alloykit.precision import choose_precision
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.run_folder.file_names import CACHE
from alloykit.serving.predictor import Predictor
from alloykit.stages.alike_warnings import alike_as_one
from alloykit.stages.label_names import label_warnings, with_usual_catch_all
from alloykit.stages.languages import language_warnings
from alloykit.stages.recipe_checks import refuse_for_multi_label, refuse_int8_on_gpu, require_engine, require_needs
from alloykit.stages.recipe_texts import (
    label_matrix,
    label_positions,
    origin_of,
    read,
    salt_of,
    salted,
    wants_labels,
)
from alloykit.teachers.protocol import TeacherInfo, TeacherSpec
from alloykit.teachers.unique_names import unique_names
from alloykit.temporary.row_index import Ids
from alloykit.training.dataset import held_out_size
from alloykit.training.more_arguments import more_arguments
from alloykit.training.schedule import required, with_defaults
from alloykit.training.student import layers_to_keep
from alloykit.training.training_options import StudentSpec


@dataclass(frozen=True)
class Prepared:
    """The first stage's result: the checked recipe and its texts.

    `texts`: the pool. `validation`: None if neither the method nor the choice of the checkpoint uses them. `labelled`: a few texts that
    anchor the fit and that the student learns. `test`: the recipe's `evaluate:`. `generated`: texts of its `generation:` block.
    """

    recipe: Recipe
    infos: list[TeacherInfo]
    space: LabelSpace
    method: Method
    texts: Texts
    device: str
    student_shape: ModelShape | None = None
    validation: Texts | None = None
    labelled: Texts | None = None
    test: Texts | None = None
    generated: Texts | None = None

    @property
    def pinned(self) -> Recipe:
        """The recipe with the hub revision of every teacher written out."""
        return self.recipe.model_copy(update={"teachers": [info.pinned for info in self.infos]})

    @property
    def names(self) -> list[str]:
        """The teachers' names, in the recipe's order."""
        return [info.name for info in self.infos]

    @property
    def output(self) -> Path:
        """The run folder."""
        return Path(self.recipe.output)

    @property
    def context(self) -> Context:
        """Label space, and the shapes of teachers and student."""
        gives = tuple(info.gives for info in self.infos)
        shapes = tuple(g.states or ModelShape(0, 0) for g in gives)
        return Context(self.space, student=self.student_shape, teachers=shapes, gives=gives)

    @cached_property
    def warnings(self) -> list[str]:
        """What is known before the sweep: of the labels' names, of the language of the texts, and of the method."""
        multi_label = self.method.needs.multi_label
        of_labels = label_warnings(self.space, self.names, self.recipe.labels, multi_label=multi_label)
        of_language = language_warnings(self.recipe.student, self.text_encoder, self.texts)
        return alike_as_one(of_labels + of_language + self.method.warnings(self.context))

    @property
    def pooled_layers(self) -> dict[str, tuple[int, ...]]:
        """By teacher, the layers whose pooled states the method needs."""
        if not self.method.needs.pooled_states:
            return {}
        asked = zip(self.infos, self.method.teacher_layers(self.context), strict=True)
        return {info.name: layers for info, layers in asked if info.gives.states}

    @property
    def text_encoder(self) -> ModelSpec | None:
        """The frozen encoder whose states of the texts the method asks for; None where it asks for none, or for the student's of a recipe
        without a student."""
        wanted, student = self.method.needs.text_states, self.recipe.student
        if wanted is None:
            return None
        if wanted.encoder is not None:
            return ModelSpec(model=wanted.encoder)
        if student is None:
            return None
        return ModelSpec(model=student.model, revision=student.revision, trust_remote_code=student.trust_remote_code)

    @property
    def teachers_device(self) -> str:
        """Where the teachers read the texts: on this process's device, or on that of the engine's workers."""
        return self.recipe.engine.device(self.device, self.recipe.device)

    @property
    def compute_format(self) -> ComputeFormat:
        """The number format of the teachers."""
        wanted = self.recipe.inference
        precision = "float32" if wanted.int8 else choose_precision(wanted.precision, self.teachers_device)
        return ComputeFormat(precision, wanted.int8, wanted.compile)

    @property
    def encoder_reading(self) -> EncoderReading | None:
        """How `text_encoder` reads the texts; None without it. This process reads them, so its own device decides on the number format."""
        wanted, encoder = self.method.needs.text_states, self.text_encoder
        if wanted is None or encoder is None:
            return None
        options, precision = self.sweep_options(), choose_precision(self.recipe.inference.precision, self.device)
        return EncoderReading(
            encoder, wanted.pooling, options.max_length, options.tokens_per_batch, options.device, precision
        )

    def labels(self, texts: Texts) -> Tensor:
        """The true labels of some texts, after the recipe's aliases: positions in the union, [n] int64. With multi-label teachers, which labels each text
        has, [n, C] bool. AlloyError for labels that no teacher knows."""
        found = label_matrix if self.method.needs.multi_label else label_positions
        return found(texts, self.space, self.recipe.labels.aliases)

    def store(self, folder: str | Path | None = None) -> Store:
        """The store of the teachers' outputs. folder: where it is, if not in the run folder."""
        place = folder or self.output / CACHE
        return Store(place, salt=salt_of(self.recipe.texts), shard_rows=self.rows_per_shard)

    @property
    def rows_per_shard(self) -> int:
        """Rows per shard of a new store."""
        return shard_rows(self.teachers_device, len(self.texts))

    def predictor(self, folder: Path) -> Predictor:
        """The student that this recipe made."""
        student = self.recipe.student
        trusted = student is not None and student.trust_remote_code
        return Predictor.load(folder, self.recipe.training.max_length, self.device, trust_remote_code=trusted)

    @property
    def epochs(self) -> float:
        """How often the student sees each text, over all phases of the method."""
        own = self.recipe.training.epochs
        return sum(phase.epochs or required(own, "epochs") for phase in self.method.phases())

    @property
    def examples(self) -> int:
        """How many texts, or other examples, each phase trains on, without the held-out texts."""
        return _examples(self.recipe, self.method, self.space, len(self.texts))

    def sweep_options(self, part: tuple[int, int] = (0, 1)) -> SweepOptions:
        """How this recipe's teachers read texts. part (i, n): only every n-th shard, from the i-th."""
        recipe, needs = self.recipe, self.method.needs
        return SweepOptions(
            passes=needs.passes,
            dropout=needs.dropout,
            max_length=recipe.training.max_length,
            long_texts=recipe.inference.long_texts,
            seed=recipe.inference.seed,
            tokens_per_batch=recipe.inference.tokens_per_batch or TOKENS_PER_BATCH[self.teachers_device],
            device=self.device,
            part=part,
            compute_format=self.compute_format,
            layers=self.pooled_layers,
            engine=sweep_engine(recipe.engine, self.teachers_device),
            salt=salt_of(recipe.texts),
        )


# Large enough to use the device, small enough for its memory.
TOKENS_PER_BATCH = {"cpu": 4096, "mps": 16_384, "cuda": 65_536}
# A batch has texts of one shard. A killed process loses one shard's chunk of passes.
SHARD_ROWS_BY_DEVICE = {"cpu": 1024, "mps": 4096, "cuda": 8192}


MOST_SHARDS = 16_384  # so that folders can be listed, and the names of all files fit into memory
LARGEST_SHARD = 65_536  # rows


def shard_rows(device: str, texts: int) -> int:
    """Rows per shard of a new store: those of the device, doubled until there are at most `MOST_SHARDS` shards."""
    rows = SHARD_ROWS_BY_DEVICE[device]
    while rows * MOST_SHARDS < texts and rows < LARGEST_SHARD:
        rows *= 2
    return rows


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
        n = _examples(recipe, method, space, len(texts))
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


def _examples(recipe: Recipe, method: Method, space: LabelSpace, n_texts: int) -> int:
    checked_by_texts = recipe.training.select == "unlabelled" and not method.needs.phase_data
    return method.examples(space, n_texts) - (
        held_out_size(n_texts, recipe.training.held_out) if checked_by_texts else 0
    )


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
