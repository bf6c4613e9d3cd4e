"""The rules of the method contract, one function each. They raise AssertionError with a description of the problem."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, MethodOptions, SkippedStep, Supervision
from alloykit.methods.registry import build, spec_of
from alloykit.methods.report_sections import MethodReport
from alloykit.methods.requirements import supervised
from alloykit.outputs import Rows
from alloykit.testing.rows import (
    CERTAIN_SCALE,
    SETS,
    TEACHERS,
    RowSource,
    abstaining,
    context_of,
    generated_rows,
    losses,
    random_rows,
    restrict_to_needs,
    space_of,
    student_logits,
    take,
    unanswered,
    unfitted_context,
)
from alloykit.testing.without_float64 import device_without_float64, off_device, on_device, rows_on_device
from alloykit.training.with_supervision import with_supervision

Options = dict[str, Any]
Reorder = Callable[[Options, tuple[int, ...]], Options]
ORDER = (1, 2, 0)


@dataclass(frozen=True)
class Subject:
    """The method class to test, its options, and a function that adapts the options to another order of the teachers."""

    method: type[Method]
    options: Options
    reorder: Reorder | None = None

    def build(self, options: Options | None = None) -> Method:
        return build(self.method, self.options if options is None else options)

    def on(self, kind: str, b: int = 12, logit_scale: float = 2.0) -> tuple[Method, Rows, Context]:
        """The method, rows of b texts, and a context fitted to at least twelve texts that begin with these."""
        method, space = self.build(), space_of(kind)
        pool = restrict_to_needs(method, random_rows(kind, max(b, 12), logit_scale=logit_scale), space)
        return method, take(pool, list(range(b))), context_of(method, pool, space)


def names_and_options(subject: Subject) -> None:
    """The class attributes exist, and the options in the recipe build the same method again."""
    cls, method = subject.method, subject.build()
    for attribute in ("name", "title", "reference"):
        value = getattr(cls, attribute, None)
        _require(
            isinstance(value, str) and bool(value), f"`{attribute}` must be a text that is not empty; got {value!r}"
        )
    _require(issubclass(cls.Options, MethodOptions), "`Options` must be a subclass of MethodOptions")
    written = json.loads(json.dumps({k: v for k, v in spec_of(method).items() if k != "name"}))
    given = {k: v for k, v in subject.options.items() if k != "of"}
    stored = {k: written.get(k) for k in given}
    _require(
        stored == json.loads(json.dumps(given)), f"options {given} were given and {stored} are written to the recipe"
    )
    missing = sorted(set(cls.Options.model_fields) - set(written))
    _require(not missing, f"options {missing} are not written to the recipe")
    again = subject.build(written)
    _require(again.options == method.options, f"the written options {written} build another method")
    _require(
        {k: v for k, v in spec_of(again).items() if k != "name"} == written, "the options change when written again"
    )
    try:
        subject.build(subject.options | {"no_such_option": 1})
    except ValidationError:
        return
    raise AssertionError("an unknown option is accepted; keep `extra='forbid'` of MethodOptions")


def needs_and_phases(subject: Subject) -> None:
    """The method needs teachers or labels, phases have different names, warnings are texts."""
    method, _, context = subject.on("disjoint")
    needs = method.needs
    _require(bool(needs.teachers or needs.labels), "it needs neither teachers nor labels: it learns from nothing")
    _require(isinstance(needs.describe(), str), "needs.describe() must be a text")
    names = [phase.name for phase in method.phases()]
    _require(len(set(names)) == len(names), f"phases must have different names; got {names}")
    warnings = method.warnings(context)
    _require(
        all(isinstance(w, str) and w for w in warnings), f"warnings must be texts that are not empty; got {warnings}"
    )
    classifier = method.as_classifier()
    _require(classifier is None or isinstance(classifier, Method), "as_classifier() must give a method or None")


def fits_again(subject: Subject) -> None:
    """`fit` returns named tensors, the same ones at each call."""
    for kind in SETS:
        method, space = subject.build(), space_of(kind)
        pool = restrict_to_needs(method, random_rows(kind), space)
        first, second = (method.fit(RowSource(pool), unfitted_context(method, pool, space)) for _ in range(2))
        _require(set(first) == set(second), "fit() gives other names at the second call")
        for name, value in first.items():
            _require(isinstance(value, Tensor), f"fit() must give tensors; '{name}' is a {type(value).__name__}")
            _require(_same(value, second[name]), f"fit() gives another '{name}' at the second call: seed what you draw")


def targets_and_weights(subject: Subject) -> None:
    """Targets and weights have the right shapes, finite values, and rows that sum to one, also for a single text and for certain teachers."""
    for kind in SETS:
        for b, logit_scale in ((12, 2.0), (1, 2.0), (12, 60.0), (1, 60.0)):
            method, rows, context = subject.on(kind, b, logit_scale)
            where = f"{kind} labels, {b} text(s), {'certain' if logit_scale > CERTAIN_SCALE else 'uncertain'} teachers"
            _check_supervision(method, method.supervise(rows, context), (b, context.space.size, len(TEACHERS)), where)


def finite_gradients(subject: Subject) -> None:
    """Every loss term is per text and finite. The student's gradient is finite and not zero."""
    if not subject.build().phases():
        return
    for kind in SETS:
        for b, logit_scale, scale in ((12, 2.0, 2.0), (1, 60.0, 2.0), (12, 60.0, 60.0)):
            method, rows, context = subject.on(kind, b, logit_scale)
            where = f"{kind} labels, {b} text(s)"
            logits = student_logits(rows, context)
            logits = (logits.sign() * scale if scale > CERTAIN_SCALE else logits).requires_grad_()
            terms = losses(method, rows, context, logits)
            _require(bool(terms), "loss() must give at least one term")
            for name, term in terms.items():
                shapes = ((b,), ()) if method.batch_coupled else ((b,),)
                hint = (
                    ""
                    if method.batch_coupled
                    else "; a scalar couples the texts of a batch: say so with `batch_coupled`"
                )
                _require(
                    term.shape in shapes,
                    f"{where}: term '{name}' must have shape ({b},); got {tuple(term.shape)}{hint}",
                )
                _require(bool(torch.isfinite(term).all()), f"{where}: term '{name}' is not finite: {term.tolist()}")
            if isinstance(terms, SkippedStep):
                continue
            total = torch.stack([term.mean() for term in terms.values()]).sum()
            _require(total.requires_grad, "no gradient reaches the student; give a SkippedStep if that is meant")
            gradient = torch.autograd.grad(total, logits, allow_unused=True)[0]
            _require(gradient is not None, "no term depends on the student's logits")
            assert gradient is not None
            _require(bool(torch.isfinite(gradient).all()), f"{where}: the student's gradient is not finite")
            if logit_scale < CERTAIN_SCALE:
                _require(float(gradient.abs().max()) > 1e-6, f"{where}: the student's gradient is zero")


def devices_without_float64(subject: Subject) -> None:
    """On a device without float64 the loss is the same."""
    if not subject.build().phases():
        return
    method, rows, context = subject.on("overlapping", b=4)
    logits = student_logits(rows, context)
    wanted = losses(method, rows, context, logits)
    with device_without_float64():
        found = losses(method, rows_on_device(rows), context, on_device(logits))
    for name, term in wanted.items():
        _close(off_device(found[name]), term, f"term '{name}'")


def order_of_teachers(subject: Subject) -> None:
    """The same teachers in another order give the same targets, weights and losses."""
    reorder = subject.reorder or reordered
    for kind in SETS:
        method, rows, context = subject.on(kind)
        other = subject.build(reorder({k: v for k, v in spec_of(method).items() if k != "name"}, ORDER))
        shapes = tuple(TEACHERS[i] for i in ORDER)
        rows2, space2, back = permuted(rows, context.space)
        generated = None
        if method.needs.generated_texts:
            generated = permuted(restrict_to_needs(method, generated_rows(kind), context.space), context.space)[0]
        context2 = context_of(other, rows2, space2, shapes, generated)
        before, after = method.supervise(rows, context), other.supervise(rows2, context2)
        _require((before is None) is (after is None), f"{kind} labels: a target in one order of the teachers alone")
        if before is not None and after is not None:
            _close(after.targets, before.targets[:, back], f"{kind} labels: targets", 1e-5, 1e-6)
            _close(after.weights, before.weights, f"{kind} labels: weights", 1e-4, 1e-6)
            if before.teacher_weights is not None and after.teacher_weights is not None:
                _close(after.teacher_weights, before.teacher_weights[:, list(ORDER)], f"{kind} labels: teacher_weights")
        # Random parameters depend on the order of the teachers.
        if method.phases() and not list(method.modules(context).parameters()):
            logits = student_logits(rows, context)
            with torch.no_grad():
                first = _total(losses(method, rows, context, logits, training=False))
                second = _total(losses(other, rows2, context2, logits[:, back], training=False))
            _close(second, first, f"{kind} labels: losses", 1e-4, 1e-5)


def independence_of_the_batch(subject: Subject) -> None:
    """A text's target and loss do not depend on the other texts of the batch. So accumulated batches equal one large batch."""
    for kind in SETS:
        method, rows, context = subject.on(kind, b=6)
        logits, together = student_logits(rows, context), method.supervise(rows, context)
        for picked in ([2], [5, 0], [3, 3, 1]):
            part, where = take(rows, picked), f"{kind} labels, texts {picked} of six"
            alone = method.supervise(part, context)
            if alone is not None and together is not None:
                _close(alone.targets, together.targets[picked], f"{where}: targets", 1e-5, 1e-6)
                if not method.batch_coupled:
                    _close(alone.weights, together.weights[picked], f"{where}: weights", 1e-5, 1e-6)
            if method.phases() and not method.batch_coupled:
                small = losses(method, part, context, logits[picked])
                for name, term in losses(method, rows, context, logits).items():
                    _close(small[name], term[picked], f"{where}: term '{name}'", 5e-5, 1e-5)


def supervision_before_training(subject: Subject) -> None:
    """Supervision that was computed before the training gives the same loss. If `loss_reads_states` is False, so do rows without states."""
    if not subject.build().phases():
        return
    for kind in SETS:
        method, rows, context = subject.on(kind, b=6)
        source, picked = with_supervision(RowSource(rows), method, context, reads=1), [5, 0, 2]
        part = source.rows(picked)
        if part.supervision is None:
            return
        part = part if method.loss_reads_states else _stateless(part)
        logits, where = student_logits(rows, context)[picked], f"{kind} labels"
        for name, term in losses(method, take(rows, picked), context, logits).items():
            found = losses(method, part, context, logits)[name]
            _close(found, term, f"{where}: term '{name}' with supervision from before the training", 5e-5, 1e-5)


def labels_only_if_needed(subject: Subject) -> None:
    """Without `needs.labels`, the true labels have no effect and may be missing."""
    for kind in SETS:
        method, rows, context = subject.on(kind)
        if method.needs.labels or method.needs.phase_data:
            return
        unlabelled = replace(rows, labels=None)
        found, wanted = method.supervise(unlabelled, context), method.supervise(rows, context)
        if found is not None and wanted is not None:
            _require(
                _same(found.targets, wanted.targets),
                "targets depend on the true labels: set `needs` to Needs(labels=True)",
            )
        if method.phases():
            logits = student_logits(rows, context)
            second = losses(method, rows, context, logits)
            for name, term in losses(method, unlabelled, context, logits).items():
                _require(
                    _same(term, second[name]),
                    f"term '{name}' depends on the true labels: set `needs` to Needs(labels=True)",
                )


def teachers_without_an_answer(subject: Subject) -> None:
    """A teacher that has no answer to a text (`TeacherRows.answered`) does not teach it: it has no weight, and labels that only such teachers
    know get no mass. A text that no teacher answers is not learned from. Texts with all answers are taught as before."""
    answered = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]]).bool()  # [B, N]
    _without_some_answers(subject, answered, unanswered, "some answers missing")


def teachers_that_abstain(subject: Subject) -> None:
    """A teacher that abstains from a text (`TeacherRows.abstains`) does not teach it either, although its answer is there."""
    answers = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 0, 1], [1, 1, 1]]).bool()  # [B, N]
    _without_some_answers(subject, answers, abstaining, "some teachers abstain")


def _without_some_answers(
    subject: Subject, answered: Tensor, partial: Callable[[Rows, Tensor], Rows], why: str
) -> None:
    for kind in SETS:
        method, rows, context = subject.on(kind, b=6)
        if not method.needs.teachers:
            return
        partly = partial(rows, answered)
        before, after = (supervised(method, r, context, 6) for r in (rows, partly))
        whole, where = [0, 5], f"{kind} labels, {why}"
        if before is not None and after is not None:
            _check_supervision(method, after, (6, context.space.size, len(TEACHERS)), where)
            _close(
                after.targets[whole], before.targets[whole], f"{where}: targets of texts with all answers", 1e-5, 1e-6
            )
            lost = after.weights[~answered.any(-1)]
            _require(not bool(lost.any()), f"{where}: a text that no teacher answers has the weight {lost.tolist()}")
            counts = after.weights > 0
            if after.teacher_weights is not None:
                left = (after.teacher_weights * ~answered)[counts]
                _require(
                    not bool((left > 1e-6).any()), f"{where}: a teacher without an answer has a weight: {left.tolist()}"
                )
            possible = answered.float() @ context.space.has_label().float() > 0
            mass = (after.targets * ~possible)[counts].sum(-1)
            _require(
                not bool((mass > 1e-5).any()),
                f"{where}: labels that no teacher with an answer knows have a mass: {mass.tolist()}",
            )
        if method.phases():
            logits = student_logits(rows, context)
            for name, term in losses(method, partly, context, logits, training=False).items():
                _require(bool(torch.isfinite(term).all()), f"{where}: term '{name}' is not finite")
                if term.shape == (6,) and not (method.needs.labels or method.needs.student_hidden_states):
                    untaught = term[~answered.any(-1)]
                    _require(
                        not bool(untaught.any()), f"{where}: term '{name}' of a text that no teacher answers is not 0"
                    )


def reports(subject: Subject) -> None:
    """`fit_report` and `training_report` return a MethodReport."""
    for kind in SETS:
        method, _, context = subject.on(kind)
        teachers = [f"teacher {i + 1}" for i in range(len(TEACHERS))]
        found: object = method.fit_report(context, teachers)
        _require(isinstance(found, MethodReport), f"fit_report() must give a MethodReport; got {type(found).__name__}")
        if method.phases():
            found = method.training_report(method.modules(context), context, teachers, [])
            _require(
                isinstance(found, MethodReport),
                f"training_report() must give a MethodReport; got {type(found).__name__}",
            )


RULES: dict[str, Callable[[Subject], None]] = {
    "names and options": names_and_options,
    "needs and phases": needs_and_phases,
    "fit repeats": fits_again,
    "targets and weights": targets_and_weights,
    "finite gradients": finite_gradients,
    "order of teachers": order_of_teachers,
    "devices without float64": devices_without_float64,
    "independence of the batch": independence_of_the_batch,
    "supervision before the training": supervision_before_training,
    "labels only if needed": labels_only_if_needed,
    "teachers without an answer": teachers_without_an_answer,
    "teachers that abstain": teachers_that_abstain,
    "reports": reports,
}


def permuted(rows: Rows, space: LabelSpace) -> tuple[Rows, LabelSpace, Tensor]:
    """The same teachers in another order: rows, label space, and for each new position of a label its old one."""
    other = LabelSpace.union([space.teachers[i] for i in ORDER])
    back = torch.tensor([space.position(name) for name in other.names])
    assert rows.labels is not None
    labels = torch.tensor([other.position(space.names[int(label)]) for label in rows.labels])
    return replace(rows, teachers=tuple(rows.teachers[i] for i in ORDER), labels=labels), other, back


def reordered(options: Options, order: tuple[int, ...]) -> Options:
    """`which` and `weights` for the new order of the teachers, also in a wrapped method."""
    new = dict(options)
    if "which" in options:
        new["which"] = order.index(options["which"])
    if options.get("weights"):
        new["weights"] = [options["weights"][i] for i in order]
    if isinstance(options.get("of"), dict):
        new["of"] = reordered(options["of"], order)
    return new


def _check_supervision(method: Method, found: Supervision | None, sizes: tuple[int, int, int], where: str) -> None:
    if found is None:
        _require(
            not method.single_target, f"{where}: supervise() gave None; set `single_target = False` if that is meant"
        )
        return
    _require(method.single_target, f"{where}: supervise() gave a target although `single_target = False`")
    b, c, n = sizes
    wanted = {"targets": (b, c), "weights": (b,), "teacher_weights": (b, n), "counts": (b,)}
    for name, shape in wanted.items():
        value = getattr(found, name)
        if value is None and name in ("teacher_weights", "counts"):
            continue
        _require(tuple(value.shape) == shape, f"{where}: {name} must have shape {shape}; got {tuple(value.shape)}")
        _require(bool(torch.isfinite(value).all()), f"{where}: {name} are not finite")
        _require(bool((value >= 0).all()), f"{where}: {name} are negative")
        _require(not value.requires_grad, f"{where}: {name} carry a gradient")
        _require(value.dtype == torch.float32, f"{where}: {name} must be float32; got {value.dtype}")
        if name in ("targets", "teacher_weights"):
            _close(value.sum(-1), torch.ones(b), f"{where}: the sum of each row of {name}", 1e-5, 1e-5)


def _stateless(rows: Rows) -> Rows:
    return replace(rows, teachers=tuple(replace(t, pooled_states=None) for t in rows.teachers), text_states=None)


def _total(terms: dict[str, Tensor]) -> Tensor:
    """The sum of all terms, per text unless every term couples the batch."""
    return torch.stack(torch.broadcast_tensors(*terms.values())).sum(0)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(torch.equal(a.nan_to_num(0.125), b.nan_to_num(0.125)))


def _close(found: Tensor, wanted: Tensor, what: str, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    torch.testing.assert_close(
        found.detach(), wanted.detach(), rtol=rtol, atol=atol, msg=lambda text: f"{what} differ. {text}"
    )
