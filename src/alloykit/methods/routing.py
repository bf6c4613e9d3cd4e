"""A method's supervision used as a classifier, with no student: what a user would try first (ours)."""

from __future__ import annotations

from collections.abc import Sequence

from alloykit.methods.protocol import Context, EstimatedAccuracy, Method, Needs, Phase, State, Supervision
from alloykit.methods.report_sections import MethodReport
from alloykit.outputs import Rows, Source


class Wrapping(Method):
    """A method that reads the supervision of another one, named in `of`."""

    loss_reads_states = False
    inner: Method

    @property
    def needs(self) -> Needs:
        return self.inner.needs

    def warnings(self, context: Context) -> list[str]:
        return self.inner.warnings(context)

    def fit_report(self, context: Context, teachers: Sequence[str]) -> MethodReport:
        return self.inner.fit_report(context, teachers)

    def estimated_accuracy(self, context: Context) -> EstimatedAccuracy | None:
        return self.inner.estimated_accuracy(context)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        return self.inner.teacher_layers(context)

    def fit(self, pool: Source, context: Context) -> State:
        return self.inner.fit(pool, context)


class Routing(Wrapping):
    """argmax T(x) of any method that has a single target."""

    name = "routing"
    title = "Another method's supervision as a classifier (no student)"
    reference = "alloykit"
    default_inner = "muka"

    def phases(self) -> tuple[Phase, ...]:
        return ()

    def as_classifier(self) -> Method | None:
        return self.inner.as_classifier()

    def supervise(self, rows: Rows, context: Context) -> Supervision | None:
        return self.inner.supervise(rows, context)
