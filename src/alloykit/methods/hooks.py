"""The deep end of the method protocol: hooks beyond `supervise` and `loss`. Every default does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor, nn

from alloykit.labels import LabelSpace
from alloykit.methods.inputs import (
    Context,
    EstimatedAccuracy,
    LoadedTeacher,
    MethodOptions,
    Needs,
    Phase,
    PhaseData,
    State,
    Step,
)
from alloykit.methods.report_sections import MethodReport
from alloykit.outputs import Rows, Source


class Hooks:
    """Hooks beyond the shallow end. Training calls them at fixed points, in the order of this file."""

    default_inner: ClassVar[str | None] = None  # for a method that wraps the one named in `of`: that of a missing `of`
    single_target: ClassVar[bool] = True  # supervise() gives a target over all labels
    one_task: ClassVar[bool] = False  # for teachers that all know the same labels (`alloykit distill`)
    target_reads_labels: ClassVar[bool] = False  # the target depends on the true label
    loss_reads_states: ClassVar[bool] = True  # False: only fit() and supervise() read states of texts
    softened_by: ClassVar[str | None] = None  # the option with the temperature of the teachers' outputs in the target

    def __init__(self, options: MethodOptions, inner: Hooks | None = None) -> None:
        self.options = options
        self.inner = inner

    # What the method declares

    @property
    def needs(self) -> Needs:
        """As in `Method`."""
        raise NotImplementedError

    @property
    def batch_coupled(self) -> bool:
        """Whether the texts of a batch influence each other's loss. Then small accumulated batches differ from one large batch."""
        return False

    @property
    def several_processes(self) -> bool:
        """Whether several processes may train the student together, each on a share of every step's texts. The default: yes, unless the
        loss depends on the whole batch, or the method learns after each step or makes its own examples."""
        learns = type(self).after_step is not Hooks.after_step
        return not (self.batch_coupled or learns or self.needs.phase_data)

    def phases(self) -> Sequence[Phase]:
        """The phases of training, in order. Empty: the method has no student."""
        return (Phase(),)

    def examples(self, space: LabelSpace, n_texts: int) -> int:
        """How many training examples each phase has: the recipe's texts, unless the method makes others."""
        return n_texts

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """Per teacher the layers whose states or scores the method needs. 0 is the embeddings, 1 the first layer above them."""
        return tuple(() for _ in context.teachers)

    # Before training

    def fit(self, pool: Source, context: Context) -> State:
        """Statistics of the whole pool (percentiles, Gaussians) as named tensors, before training. Later they are in `context.state`."""
        return {}

    def warnings(self, context: Context) -> list[str]:
        """What a user should know before trusting this method with these teachers."""
        return []

    def fit_report(self, context: Context, teachers: Sequence[str]) -> MethodReport:
        """A report about the fit. `teachers`: their names. If this raises, the run continues without it."""
        return MethodReport()

    def estimated_accuracy(self, context: Context) -> EstimatedAccuracy | None:
        """An estimate of the accuracy of the method's targets on the pool, after `fit`; None where the method makes none."""
        return None

    # During training

    def modules(self, context: Context) -> nn.ModuleDict:
        """Parameters beside the student's: trained and checkpointed with it, absent from the exported student."""
        return nn.ModuleDict()

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

    def correct(self, logits: Tensor, rows: Rows) -> Tensor:
        """How correct the student's answers are, for checks with true labels: logits [B, C] → [B] float32, from 0 to 1."""
        assert rows.labels is not None
        return (logits.argmax(-1) == rows.labels).float()

    def after_step(self, step: Step) -> None:
        """Called after each optimiser step, without gradient (policies learn here)."""

    # After training

    def training_report(
        self, modules: nn.ModuleDict, context: Context, teachers: Sequence[str], history: Sequence[Mapping[str, Any]]
    ) -> MethodReport:
        """A report about the trained modules and the numbers of `Step.log` (`history`). If this raises, the run continues without it."""
        return MethodReport()
