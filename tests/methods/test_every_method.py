"""What every method of the registry must keep to: the rules of alloykit.testing, and what holds for built-in methods alone."""

from dataclasses import replace

import pytest
import torch
from random_rows import ALLOY, SPECS, losses, made, rows_of, student_logits
from some_quick import some_quick

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.protocol import Context, LossInputs, Method, StudentOutput
from alloykit.methods.registry import create, methods
from alloykit.methods.requirements import require
from alloykit.testing import check_method

every_method = pytest.mark.parametrize("spec", SPECS, ids=str)
# One of each method, and the default method with its mixture.
QUICK = [*{spec["name"]: spec for spec in reversed(SPECS)}.values(), ALLOY]


@pytest.fixture(autouse=True)
def every_fit_of_alloy_is_accepted(monkeypatch):
    """On random texts few fits are; here the mixture is tested, not what takes its place."""
    monkeypatch.setattr("alloykit.methods.alloy.measures.outcome_of", lambda *_: ACCEPTED)


@pytest.mark.parametrize("spec", some_quick(SPECS, *QUICK), ids=str)
def test_every_method_keeps_to_every_rule(spec):
    check_method(methods()[spec["name"]], {key: value for key, value in spec.items() if key != "name"})


# Some terms hold a part of themselves by definition: CFL the width of its kernels, adaptive_ensemble the student's feature. Their
# oracle tests compare them with that part held.
HELD = {"cfl", "adaptive_ensemble"}


CHECKED = [s for s in SPECS if create(s).phases() and s["name"] not in HELD]


@pytest.mark.parametrize("spec", some_quick(CHECKED, *(s for s in CHECKED if s in QUICK)), ids=str)
def test_gradients_are_those_of_the_loss(spec):
    method, rows, context = made(spec, "overlapping", b=2)
    logits = student_logits(rows, context).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda s: sum(losses(method, rows, context, s).values()), logits, atol=1e-6)


def test_batch_coupling_is_said_where_it_is():
    for normalise in ("none", "group", "batch"):
        assert create({"name": "muka", "normalise": normalise}).batch_coupled is (normalise == "batch")


SOFTENED = [
    (spec, option)
    for spec in QUICK
    if create(spec).as_classifier()
    for option in ("distillation_temperature", "temperature")
    if option in create(spec).options.model_dump()
]


@pytest.mark.parametrize(("spec", "option"), [x for x in SOFTENED if x != ({"name": "muka"}, "temperature")], ids=str)
def test_as_a_classifier_a_target_is_not_softened(spec, option):
    """The student that learns from it does not soften its answers either. MUKA's option `temperature` is τ of Eq. 12."""
    soft, rows, context = made(spec | {option: 4.0}, "disjoint")
    plain = create(spec | {option: 1.0}).supervise(rows, context).targets
    torch.testing.assert_close(soft.as_classifier().supervise(rows, context).targets, plain)
    assert not torch.allclose(soft.supervise(rows, context).targets, plain, atol=0.01)


@every_method
def test_needs_are_checked_before_anything_runs(spec):
    method = create(spec)
    needs = method.needs
    assert isinstance(needs.describe(), str)
    require(method, n_teachers=3, has_labels=True)
    if needs.labels:
        with pytest.raises(AlloyError, match=r"label.*Name the column"):
            require(method, n_teachers=3, has_labels=False)
    for n in range(needs.teachers):
        with pytest.raises(AlloyError, match=rf"at least {needs.teachers} teacher.*got {n}"):
            require(method, n_teachers=n, has_labels=True)
    assert needs.teachers >= 1 or needs.labels, "a method must learn from something"


@every_method
def test_passes_that_are_needed_and_missing_are_refused(spec):
    method, rows, context = made(spec, "disjoint")
    if method.needs.passes:
        unsampled = tuple(replace(t, probability_sum=None, passes=None) for t in rows.teachers)
        with pytest.raises(AlloyError, match="passes"):
            method.supervise(replace(rows, teachers=unsampled), context)


@every_method
def test_only_some_methods_have_no_student(spec):
    method = create(spec)
    assert (tuple(method.phases()) == ()) is (method.name in {"ensemble", "teacher", "routing"})


def test_muka_warns_of_unequal_label_counts():
    wide = Context(LabelSpace.union([["a", "b"], [f"x{i}" for i in range(7)]]))
    even = Context(LabelSpace.union([["a", "b"], [f"x{i}" for i in range(6)]]))
    assert "percentile" in create("muka").warnings(wide)[0]
    assert create({"name": "pseudo_label", "of": "muka"}).warnings(wide)
    assert create("muka").warnings(even) == []
    assert create({"name": "muka", "confidence": "percentile"}).warnings(wide) == []


def test_a_teacher_that_does_not_exist_is_refused():
    with pytest.raises(AlloyError, match="at least 4 teacher"):
        require(create({"name": "teacher", "which": 3}), n_teachers=3, has_labels=False)


def test_a_method_without_supervision_must_bring_its_loss():
    class Half(Method):
        name = "half"

    with pytest.raises(TypeError, match=r"must define loss"):
        Half(Method.Options()).loss(
            LossInputs(StudentOutput(torch.zeros(1, 2)), rows_of("disjoint"), None, None, None, None)
        )
