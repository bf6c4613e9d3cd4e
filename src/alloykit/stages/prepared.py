"""What the first stage of every command found: the checked recipe, its teachers, labels and texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.data import Texts
from alloykit.engines.choose import sweep_engine
from alloykit.knowledge.online.encoder_states import EncoderReading
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, ModelShape
from alloykit.models.compute_format import ComputeFormat
from alloykit.precision import choose_precision
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import CACHE
from alloykit.serving.predictor import Predictor
from alloykit.stages.alike_warnings import alike_as_one
from alloykit.stages.label_names import label_warnings
from alloykit.stages.languages import language_warnings
from alloykit.stages.recipe_texts import (
    label_matrix,
    label_positions,
    salt_of,
)
from alloykit.teachers.protocol import TeacherInfo
from alloykit.training.dataset import held_out_size
from alloykit.training.schedule import required


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
        return phase_examples(self.recipe, self.method, self.space, len(self.texts))

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


def phase_examples(recipe: Recipe, method: Method, space: LabelSpace, n_texts: int) -> int:
    """How many texts, or other examples, each phase trains on, without the held-out texts. n_texts: of the pool."""
    checked_by_texts = recipe.training.select == "unlabelled" and not method.needs.phase_data
    return method.examples(space, n_texts) - (
        held_out_size(n_texts, recipe.training.held_out) if checked_by_texts else 0
    )
