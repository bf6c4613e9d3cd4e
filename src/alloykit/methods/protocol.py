"""What a method is: knowledge in, supervision out. One paper, one file, one subclass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import torch
from torch import Tensor, nn

from alloykit.blocks import Block
from alloykit.labels import LabelSpace
from alloykit.losses.kl import kl
from alloykit.methods.report_sections import MethodReport
from alloykit.outputs import Rows, Source

State = Mapping[str, Tensor]


class MethodOptions(Block):
    """The recipe's `method:` block, less its name. Unknown keys are errors."""


@dataclass(frozen=True)
class Needs:
    """What a method asks for. Checked before anything runs."""

    teachers: int = 1  # at least so many
    passes: int = 0  # Monte-Carlo passes per text and teacher
    dropout: float | None = None  # their rate; None: the rate that each teacher was trained with
    pooled_states: bool = False  # of the teachers' layers that `teacher_layers` names, from the store
    token_states: bool = False  # of those layers, from teachers kept in memory during training
    attention_scores: bool = False  # of those layers, likewise from teachers in memory
    phase_data: bool = False  # learns from examples that `phase_data` makes for each phase, instead of texts
    own_texts: bool = False  # texts of which it is known whose teacher's they are: generated ones, or labelled ones
    text_states: str | None = None  # [CLS] of a frozen encoder that is no teacher: which one
    labels: bool = False  # true labels of the training texts
    validation: bool = False  # the labelled texts of the recipe's `validation:`
    student_hidden_states: bool = False
    student_attention_scores: bool = False

    def describe(self) -> str:
        words = ["teacher logits"] if self.teachers else []
        words += [f"{self.passes} Monte-Carlo passes"] if self.passes else []
        words += ["pooled states"] if self.pooled_states else []
        words += ["token states (teachers stay in memory)"] if self.token_states else []
        words += ["examples made for each phase (teachers stay in memory)"] if self.phase_data else []
        words += ["texts generated for each teacher (or labels)"] if self.own_texts else []
        words += ["attention scores"] if self.attention_scores else []
        words += [f"[CLS] of {self.text_states}"] if self.text_states else []
        words += ["labels"] if self.labels else []
        words += ["labelled validation texts"] if self.validation else []
        return ", ".join(words)


@dataclass(frozen=True)
class Shape:
    """A model's size, for methods that put projections between teacher and student."""

    hidden_size: int
    layers: int


@dataclass(frozen=True)
class Context:
    """What stays the same for all batches of a run. `validation` and `own` are there for `fit` alone."""

    space: LabelSpace
    state: State = field(default_factory=dict)
    student: Shape | None = None
    teachers: tuple[Shape, ...] = ()
    validation: Source | None = None
    own: Source | None = None

    @property
    def own_source(self) -> Source:
        """What the teachers say of texts with the label that each was written for. TypeError where there are none."""
        if self.own is None:
            raise TypeError("this method needs texts that were generated for each teacher")
        return self.own

    @property
    def validation_source(self) -> Source:
        """What the teachers say of the labelled validation texts. TypeError where there are none."""
        if self.validation is None:
            raise TypeError("this method needs labelled validation texts")
        return self.validation

    @property
    def student_shape(self) -> Shape:
        """The student's shape. TypeError where there is no student."""
        if self.student is None:
            raise TypeError("this method needs a student's shape")
        return self.student


@dataclass(frozen=True)
class Phase:
    """One stretch of student training. `epochs`, `learning_rate` and `select` default to the recipe's."""

    name: str = "train"
    epochs: float | None = None
    learning_rate: float | None = None
    select: Literal["last"] | None = None  # where a check would tell nothing of what this stretch learns


class LoadedTeacher(Protocol):
    """A teacher in memory, for methods that ask it for more than its stored outputs."""

    info: Any  # .name, .labels
    model: Any  # a frozen transformers classifier
    tokenizer: Any

    @property
    def device(self) -> torch.device: ...


@dataclass(frozen=True)
class PhaseData:
    """The examples of one phase. `dataset`: a torch dataset of `{"row": position, …}` with `lengths`, [n] int32, in tokens.
    `collator`: entries → the student's inputs, `row` [B] and `rows`, which is `Rows.to_batch()`."""

    dataset: Any
    collator: Callable[[Sequence[dict[str, Any]]], dict[str, Any]]


@dataclass(frozen=True)
class Supervision:
    """The target over the union of labels for B texts.

    `targets`: [B, C], rows sum to one. `weights`: [B], how much each text counts.
    `teacher_weights`: [B, N], rows sum to one: how much each teacher owns the text; None if the method has no such notion.
    """

    targets: Tensor
    weights: Tensor
    teacher_weights: Tensor | None = None


@dataclass(frozen=True)
class StudentOutput:
    """The student on B texts: `logits` [B, C]; where a method needs them, per layer from the embeddings on [B, L, d], and per
    layer the attention's scores before their softmax, [B, H, L, L]."""

    logits: Tensor
    attention_mask: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attention_scores: tuple[Tensor, ...] | None = None


def _no_student() -> Tensor:
    raise TypeError("no student to ask")


@dataclass(frozen=True)
class LossInputs:
    """One batch to learn from: the student's answers, the teachers' and what the method made of them."""

    student: StudentOutput
    rows: Rows
    supervision: Supervision | None
    modules: nn.ModuleDict
    context: Context
    phase: Phase
    answer: Callable[[], Tensor] = _no_student  # the student's logits without dropout and without gradient, [B, C]

    @property
    def target(self) -> Supervision:
        """The supervision of a method that has one. TypeError otherwise: such a method defines its own loss."""
        if self.supervision is None:
            raise TypeError("this method gives no supervision and must define loss()")
        return self.supervision


@dataclass(frozen=True)
class Step:
    """What `after_step` sees: what the optimiser has just learned from, one entry per accumulated batch.

    `answer(batch)`: the student's logits now, without dropout, [B, C]. `validation_accuracy()`: its accuracy on (at most 256 of) the
    validation texts. `logs`: whether this step's numbers are kept; `log` keeps named ones in the training's history.
    """

    student: nn.Module
    modules: nn.ModuleDict
    batches: tuple[Mapping[str, object], ...]
    rows: tuple[Rows, ...]
    context: Context
    phase: Phase
    answer: Callable[[Mapping[str, object]], Tensor]
    validation_accuracy: Callable[[], float]
    log: Callable[[dict[str, float]], None]
    logs: bool = False
    last_of_epoch: bool = False


class Method:
    """Base of all methods; the defaults make a method of nothing but `supervise`.

    Texts of one batch do not influence each other's loss unless `batch_coupled` says so; then accumulating
    gradients over small batches is not the same as one large batch.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    citation: ClassVar[str] = ""  # the whole reference, for model cards
    Options: ClassVar[type[MethodOptions]] = MethodOptions
    default_inner: ClassVar[str | None] = None  # wraps another method, named in `of`; this one if it is not named
    single_target: ClassVar[bool] = True  # supervise() gives a target over all labels
    one_task: ClassVar[bool] = False  # for teachers that all know the same labels (`alloykit distill`)
    target_reads_labels: ClassVar[bool] = False  # that target depends on the true label

    def __init__(self, options: MethodOptions, inner: Method | None = None) -> None:
        self.options = options
        self.inner = inner

    @property
    def needs(self) -> Needs:
        return Needs()

    @property
    def batch_coupled(self) -> bool:
        return False

    def phases(self) -> Sequence[Phase]:
        """The stretches of training, in order. None at all: the method has no student."""
        return (Phase(),)

    def examples(self, space: LabelSpace, n_texts: int) -> int:
        """How many training examples each phase has: the recipe's texts, unless the method makes others."""
        return n_texts

    def phase_data(
        self,
        phase: Phase,
        student: Any,
        modules: nn.ModuleDict,
        teachers: Sequence[LoadedTeacher],
        context: Context,
        seed: int,
    ) -> PhaseData:
        """The examples of one phase, made from the teachers and the current student. Called if `needs.phase_data`."""
        raise NotImplementedError

    def fit(self, pool: Source, context: Context) -> State:
        """Whatever needs the whole pool before training (percentiles, Gaussians, gates), as named tensors."""
        return {}

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """Per teacher the layers (1 is the first above the embeddings, which are 0) whose states or scores the method needs."""
        return tuple(() for _ in context.teachers)

    def modules(self, context: Context) -> nn.ModuleDict:
        """Parameters beside the student's: trained and checkpointed with it, absent from the exported student."""
        return nn.ModuleDict()

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        """The target of each text, or None where there is no single one (UHC)."""
        raise NotImplementedError

    def as_classifier(self) -> Method | None:
        """The method whose target is what the teachers alone answer to a new text; None where they give none without a label."""
        return self if self.single_target and self.needs.teachers and not self.target_reads_labels else None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        """Named terms, each per text [B]; their sum is minimised in the mean over texts. A batch-coupled term is a scalar."""
        return {"kl": inputs.target.weights * kl(inputs.target.targets, inputs.student.logits)}

    def fit_report(self, context: Context, teachers: Sequence[str]) -> MethodReport:
        """What `fit` found out about the pool. `teachers`: their names. A run goes on without it where this raises."""
        return MethodReport()

    def training_report(
        self, modules: nn.ModuleDict, context: Context, teachers: Sequence[str], history: Sequence[Mapping[str, Any]]
    ) -> MethodReport:
        """What the trained modules tell, and what `Step.log` noted on the way (`history`). A run goes on without it where this raises."""
        return MethodReport()

    def warnings(self, context: Context) -> list[str]:
        """What a user should know before trusting this method with these teachers."""
        return []

    def after_step(self, step: Step) -> None:
        """Called after each optimiser step (policies learn here)."""


def uniform_weights(like: Tensor) -> Tensor:
    """v ≡ 1, [B]."""
    return torch.ones(like.shape[0], device=like.device, dtype=torch.float32)
