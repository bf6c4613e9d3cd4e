"""Inputs and results of a method: the data classes of the protocol (methods/protocol.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from alloykit.blocks import Block
from alloykit.labels import LabelSpace
from alloykit.outputs import Rows, Source

State = Mapping[str, Tensor]
"""The tensors that `fit` returned, by name. They are stored in the run folder and are part of every later `Context`."""


class MethodOptions(Block):
    """The recipe's `method:` block without `name` and `of`. Unknown keys are errors; the text below a field is its documentation."""


@dataclass(frozen=True)
class TextStates:
    """States of each text by a frozen encoder that is no teacher. `encoder`: a model folder or hub id; None: the student's own pretrained
    encoder with all its layers, and nothing where the recipe has no student. `pooling`: of the last layer, the state at [CLS] or the mean over the tokens."""

    encoder: str | None
    pooling: Literal["cls", "mean"] = "cls"

    def describe(self) -> str:
        which = "the [CLS] state" if self.pooling == "cls" else "the mean state"
        return f"{which} of {self.encoder or 'the encoder of the student'}"


@dataclass(frozen=True)
class Needs:
    """What a method needs. It is checked before anything runs."""

    teachers: int = 1  #: the minimum number
    passes: int = 0  #: Monte-Carlo passes per text and teacher
    dropout: float | None = None  #: the dropout rate of the passes; None: the rate that each teacher was trained with
    pooled_states: bool = False  #: pooled states of the teachers' layers that `teacher_layers` names, from the store
    states_optional: bool = False  #: pooled states are used of the teachers that have some
    token_states: bool = False  #: token states of those layers, from teachers kept in memory during training
    attention_scores: bool = False  #: attention scores of those layers, from teachers kept in memory during training
    phase_data: bool = False  #: learns from examples that `phase_data` makes for each phase, instead of texts
    generated_texts: bool = False  #: texts with a known source teacher: generated for it, or labelled
    text_states: TextStates | None = None  #: states of the texts in a frozen encoder that is not a teacher
    multi_label: bool = False  #: teachers whose labels do not exclude each other
    labels: bool = False  #: true labels of the training texts
    validation: bool = False  #: the labelled texts of the recipe's `validation:`
    student_hidden_states: bool = False  #: the student's states of every layer, in `loss`
    student_attention_scores: bool = False  #: its attention scores before the softmax, in `loss`

    def describe(self) -> str:
        words = ["teacher logits"] if self.teachers else []
        words += [f"{self.passes} Monte-Carlo passes"] if self.passes else []
        words += [
            "pooled states" + (" (of the teachers that have some)" if self.states_optional else "")
        ] * self.pooled_states
        words += ["token states (teachers stay in memory)"] if self.token_states else []
        words += ["examples made for each phase (teachers stay in memory)"] if self.phase_data else []
        words += ["texts generated for each teacher (or labels)"] if self.generated_texts else []
        words += ["attention scores"] if self.attention_scores else []
        words += [self.text_states.describe()] if self.text_states else []
        words += ["multi-label teachers"] if self.multi_label else []
        words += ["labels"] if self.labels else []
        words += ["labelled validation texts"] if self.validation else []
        return ", ".join(words)


@dataclass(frozen=True)
class ModelShape:
    """A model's size, for methods that put projections between teacher and student."""

    hidden_size: int  #: width of a layer's states
    layers: int  #: transformer layers; the embeddings are not counted


@dataclass(frozen=True)
class Gives:
    """What a teacher gives beside the probabilities of its labels. A method's `Needs` are compared with it before anything runs."""

    logits: bool = False  #: with a scale of their own; without them `TeacherRows.logits` are log-probabilities
    passes: bool = False  #: Monte-Carlo passes
    dropout: float = 0.0  #: the largest rate it was trained with; 0: passes need `method: {dropout: …}`
    states: ModelShape | None = None  #: pooled states of its layers
    model: bool = False  #: a transformers model in memory: token states, attention scores, gradients
    new_texts: bool = True  #: it answers texts that it has not seen; False: stored answers
    multi_label: bool = False  #: its labels do not exclude each other: the sigmoid of each logit is a probability
    every_text: bool = True  #: it answers every text; False: stored answers, or a service that may give none

    def describe(self) -> str:
        words = ["logits" if self.logits else "probabilities"]
        words += ["of each label by itself (multi-label)"] if self.multi_label else []
        words += ["Monte-Carlo passes"] if self.passes else []
        words += ["states"] if self.states else []
        return ", ".join(words) + ("" if self.every_text else " (not of every text)")


@dataclass(frozen=True)
class Context:
    """What stays the same for all batches of a run.

    space: the union of the teachers' labels, and the maps between each teacher and the union. state: what `fit` returned.
    student, teachers: the models' shapes; a teacher without states has hidden_size 0 and 0 layers. gives: what each teacher gives; empty: all of
    them give everything. validation, generated, labelled: only for `fit`; None in every other call.
    labelled: the recipe's few labelled texts, if there are any; their rows have `labels`.
    """

    space: LabelSpace
    state: State = field(default_factory=dict)
    student: ModelShape | None = None
    teachers: tuple[ModelShape, ...] = ()
    gives: tuple[Gives, ...] = ()
    validation: Source | None = None
    generated: Source | None = None
    labelled: Source | None = None

    def gives_logits(self, teacher: int) -> bool:
        """Whether a teacher's logits have a scale of their own. Those of another one are log-probabilities: their log-sum-exp is 0."""
        return not self.gives or self.gives[teacher].logits

    @property
    def generated_source(self) -> Source:
        """The teachers' outputs for the texts with a known source teacher. TypeError where there are none."""
        if self.generated is None:
            raise TypeError("this method needs texts that were generated for each teacher")
        return self.generated

    @property
    def validation_source(self) -> Source:
        """The teachers' outputs for the labelled validation texts. TypeError where there are none."""
        if self.validation is None:
            raise TypeError("this method needs labelled validation texts")
        return self.validation

    @property
    def student_shape(self) -> ModelShape:
        """The student's shape. TypeError where there is no student."""
        if self.student is None:
            raise TypeError("this method needs a student's shape")
        return self.student


@dataclass(frozen=True)
class Phase:
    """One phase of student training. `epochs`, `learning_rate` and `select` default to the recipe's."""

    name: str = "train"
    epochs: float | None = None
    learning_rate: float | None = None
    select: Literal["last"] | None = None  #: "last" if checks do not measure what this phase learns


class LoadedTeacher(Protocol):
    """A teacher in memory, for methods that need more than its stored outputs."""

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
    `teacher_weights`: [B, N], rows sum to one: how much of the target comes from each teacher; None if the method has no such weights.
    `counts`: [B], the weight of each text in those parts of the loss that do not choose between teachers; None: 1 for every text.
    """

    targets: Tensor
    weights: Tensor
    teacher_weights: Tensor | None = None
    counts: Tensor | None = None

    def on(self, device: torch.device) -> Supervision:
        """The same in float32 on a device; itself if it is there already."""
        if self.targets.device == device:
            return self
        shares, counts = (v if v is None else v.float().to(device) for v in (self.teacher_weights, self.counts))
        return Supervision(self.targets.float().to(device), self.weights.float().to(device), shares, counts)


@dataclass(frozen=True)
class StudentOutput:
    """The student on B texts: `logits` [B, C]; where a method needs them, per layer from the embeddings on [B, L, d], and per
    layer the attention's scores before their softmax, [B, H, L, L]."""

    logits: Tensor
    attention_mask: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attention_scores: tuple[Tensor, ...] | None = None


def _no_student() -> Tensor:
    raise TypeError("these inputs have no student")


@dataclass(frozen=True)
class LossInputs:
    """One batch to learn from.

    student: its outputs, with gradient. rows: the teachers' outputs. supervision: the result of `supervise`, without gradient.
    modules: those of `Method.modules`. training: False if the loss is only measured, on the held-out texts of a check.
    eval_logits(): the student's logits without dropout and without gradient, [B, C].
    """

    student: StudentOutput
    rows: Rows
    supervision: Supervision | None
    modules: nn.ModuleDict
    context: Context
    phase: Phase
    eval_logits: Callable[[], Tensor] = _no_student
    training: bool = True

    @property
    def target(self) -> Supervision:
        """The supervision of a method that has one. TypeError otherwise: such a method defines its own loss."""
        if self.supervision is None:
            raise TypeError("this method gives no supervision and must define loss()")
        return self.supervision


class SkippedStep(dict[str, Tensor]):
    """Terms of a loss, [B] each, from which the student does not learn: they are logged, and no weight moves in this step.

    All batches of one optimiser step must be skipped, or none.
    """


@dataclass(frozen=True)
class Step:
    """The inputs of `after_step`: the batches of the last optimiser step, one entry per accumulated batch.

    `eval_logits(batch)`: the current student's logits without dropout, [B, C]. `validation_accuracy()`: its accuracy on (at most 256 of) the
    validation texts. `logs`: whether this step is logged; `log`: adds named numbers to the training's history.
    """

    student: nn.Module
    modules: nn.ModuleDict
    batches: tuple[Mapping[str, object], ...]
    rows: tuple[Rows, ...]
    context: Context
    phase: Phase
    eval_logits: Callable[[Mapping[str, object]], Tensor]
    validation_accuracy: Callable[[], float]
    log: Callable[[dict[str, float]], None]
    logs: bool = False
    last_of_epoch: bool = False


def uniform_weights(like: Tensor) -> Tensor:
    """v ≡ 1, [B]."""
    return torch.ones(like.shape[0], device=like.device, dtype=torch.float32)


@dataclass(frozen=True)
class EstimatedAccuracy:
    """How accurate the targets of a method are on texts like the pool's, estimated by the method itself. `overall`, and `by_label` for the texts whose target
    is this label (None: no text): shares from 0 to 1. labelled_texts: from how many labelled texts the estimate is; 0: from the pool alone. doubt: a sentence
    for the report if something in the pool says that it may be far from the truth. tested: a sentence about how exact such estimates were, if that was measured."""

    overall: float
    by_label: tuple[float | None, ...]
    labelled_texts: int = 0
    doubt: str = ""
    tested: str = ""
