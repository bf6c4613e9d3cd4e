"""The blocks that several kinds of recipes have."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from alloykit.blocks import Block, FolderText, Seed
from alloykit.engines.engine_options import EngineOptions
from alloykit.models.long_texts import LongTexts
from alloykit.recipe.texts_origin import AllOrNames, TextsOrigin


class RecipeBlock(Block):
    """A whole recipe. `kind`: its name for `alloykit schema`."""

    kind: ClassVar[str]


class LabelOptions(Block):
    """How labels of different teachers are joined."""

    aliases: dict[str, str] = Field(default_factory=dict)
    """Other names for labels: {label: name to use instead}. They are applied before labels are joined by name."""
    keep_apart: AllOrNames = False
    """Label names that several teachers use for different classes: a list of names, or true for all names. Each becomes one label per teacher, teacher/label."""
    catch_all: list[str] | None = None
    """Names of labels that mean "none of this teacher's other labels", such as other. A teacher that gives one to a text leaves the text to the teachers
    that name a label. If not given: those that several teachers have under a usual name, such as other, none or out_of_scope. An empty list: there are none."""


class InferenceOptions(Block):
    """How teachers read the texts."""

    seed: Seed = 0
    """Random seed of the Monte-Carlo passes."""
    tokens_per_batch: int | None = Field(None, gt=0)
    """Tokens of a teacher's batch, padding included. Default: 4,096 on a CPU, 65,536 on a GPU. If memory runs out, batches become smaller."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """The number format of the teachers, and of another encoder that reads the texts. auto: bfloat16 on a GPU and on CPUs with native bfloat16, otherwise float32."""
    int8: bool = False
    """Compute the teachers' linear layers in 8 bits. This is twice as fast as float32 on a CPU. The label differed on up to 1.5 % of our test texts."""
    compile: bool = False
    """Compile the teachers with torch.compile. Compiling takes about a minute, so use it on a GPU with many texts."""
    long_texts: LongTexts | None = None
    """What teachers read of a text longer than `max_length`. head: its beginning; tail: its end; head_tail: a quarter from the beginning and the
    rest from the end; mean: all of it, in chunks whose probabilities are averaged. If not given: as the teacher was trained."""

    @model_validator(mode="after")
    def _one_format(self) -> InferenceOptions:
        if self.int8 and self.precision == "bfloat16":
            raise ValueError("give either int8 or precision bfloat16, not both")
        return self


class DataBlock(Block):
    """Labelled texts."""

    data: TextsOrigin
    """A file, a folder or a hub id, or a block with more keys about how to read it. Name the column of the labels with `label:`."""


class EvaluateBlock(DataBlock):
    """Labelled texts to test on."""

    reference: FolderText | None = None
    """The folder of a classifier that was trained on all labels. The report then shows how far the method's targets are from its probabilities."""


class ReportOptions(Block):
    """What the report may show."""

    show_texts: bool = False
    """Show texts in report and metrics, such as those with the lowest confidence. Otherwise only their row numbers are shown."""


def _block_of_engine(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


EngineBlock = Annotated[EngineOptions, BeforeValidator(_block_of_engine)]
"""The `engine:` block, or its name."""
