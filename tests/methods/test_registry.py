"""Names, options, specs that build the same method again, and methods from other packages."""

import json
from functools import cache
from types import SimpleNamespace

import pytest
import torch
from installed import forget_installed_methods
from pydantic import Field, ValidationError
from random_rows import SPECS, losses, rows_of, space_of, student_logits

from alloykit.errors import AlloyError
from alloykit.methods import registry
from alloykit.methods.protocol import Context, Method, MethodOptions, Supervision, uniform_weights
from alloykit.methods.registry import create, methods, spec_of
from alloykit.methods.requirements import supervised

every_method = pytest.mark.parametrize("spec", SPECS, ids=str)


@every_method
def test_a_spec_builds_the_same_method_again(spec):
    method = create(spec)
    written = json.loads(json.dumps(spec_of(method)))
    assert written.items() >= {k: v for k, v in spec.items() if k != "of"}.items()
    again = create(written)
    assert type(again) is type(method)
    assert again.options == method.options
    assert spec_of(again) == written
    assert (again.inner is None) is (method.inner is None)
    assert set(type(method).Options.model_fields) <= set(written), "every default is written out"


@every_method
def test_unknown_options_are_refused(spec):
    with pytest.raises(ValidationError, match="temprature"):
        create(spec | {"temprature": 1.0})
    if create(spec).inner is None:
        with pytest.raises(ValidationError, match="of"):
            create(spec | {"of": "ensemble"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "hard", "direction": "reverse"}, "smoothing"),
        ({"direction": "reverse", "distillation_temperature": 2.0}, "distillation_temperature"),
        ({"smoothing": 0.1}, "reverse"),
        ({"probabilities": "averaged", "passes": 0}, "passes"),
        ({"probabilities": "averaged", "distillation_temperature": 2.0}, "temperature"),
        ({"temperature": 0}, "temperature"),
        ({"passes": -1}, "passes"),
        ({"mode": "medium"}, "soft"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, words):
    with pytest.raises(ValidationError, match=words):
        create({"name": "muka", **options})


def test_a_string_is_a_name_and_the_wrapped_method_has_a_default():
    assert create("muka").options == create({"name": "muka"}).options
    assert create("pseudo_label").inner.name == "ensemble"
    assert create("routing").inner.name == "muka"
    assert spec_of(create({"name": "routing", "of": {"name": "muka", "passes": 4}}))["of"]["passes"] == 4


@pytest.mark.parametrize("inner", ["uhc", "supervised", "routing", "pseudo_label"])
def test_only_a_single_target_of_teachers_can_be_wrapped(inner):
    with pytest.raises(AlloyError, match=f"single target.*'{inner}'"):
        create({"name": "pseudo_label", "of": inner})


@pytest.mark.parametrize(
    ("wrong", "near"), [("mukka", "muka"), ("vanila_kd", "vanilla_kd"), ("UHC", "uhc"), ("zzz", None)]
)
def test_an_unknown_name_suggests_the_near_one(wrong, near):
    with pytest.raises(AlloyError, match=wrong) as caught:
        create(wrong)
    assert all(name in caught.value.hint for name in methods())
    assert ("Did you mean" in caught.value.hint) is (near is not None)
    if near:
        assert f"Did you mean '{near}'?" in caught.value.hint


def test_a_spec_without_a_name_is_refused():
    with pytest.raises(AlloyError, match="a method's name"):
        create({"passes": 4})


class EqualOptions(MethodOptions):
    floor: float = Field(0.0, ge=0)


class Equal(Method):
    """Every label the same: what an outside package might bring."""

    name = "equal"
    title = "Equal"
    reference = "nobody"
    Options = EqualOptions

    def supervise(self, rows, context):
        targets = torch.full((len(rows.teachers[0].logits), context.space.size), 1 / context.space.size)
        return Supervision(targets, uniform_weights(targets) + self.options.floor)


class Impostor(Equal):
    name = "muka"


def install(monkeypatch, method):
    """An installed package with one entry point."""
    entry = SimpleNamespace(name=method.name, value=f"outside:{method.__name__}", load=lambda: method)

    def entry_points(*, group):
        return [entry] if group == "alloykit.methods" else []

    forget_installed_methods(monkeypatch)
    monkeypatch.setattr(registry, "entry_points", entry_points)


def test_a_method_from_another_package_works(monkeypatch):
    install(monkeypatch, Equal)
    assert methods()["equal"] is Equal
    assert list(methods())[-1] == "equal", "after the built-in ones"
    method = create({"name": "equal", "floor": 1.0})
    assert spec_of(create(spec_of(method))) == {"name": "equal", "floor": 1.0}
    with pytest.raises(ValidationError):
        create({"name": "equal", "ceiling": 1.0})
    rows, context = rows_of("disjoint"), Context(space_of("disjoint"))
    terms = losses(method, rows, context, student_logits(rows, context))
    uniform = losses(create("equal"), rows, context, student_logits(rows, context))
    torch.testing.assert_close(terms["kl"], 2 * uniform["kl"])
    assert create({"name": "pseudo_label", "of": "equal"}).inner.name == "equal"
    with pytest.raises(AlloyError, match="'equal'"):
        create("equall")


def test_entry_points_are_read_once_and_again_for_a_name_that_is_not_there(monkeypatch):
    """Python reads a file of every installed package for them. A notebook may install a package after its method was missing."""
    forget_installed_methods(monkeypatch)
    entry, reads = SimpleNamespace(name="equal", value="outside:Equal", load=lambda: Equal), []

    def entry_points(*, group):
        reads.append(group)
        return [] if len(reads) < 3 else [entry]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    for _ in range(3):
        create("muka")
    assert len(reads) == 1
    with pytest.raises(AlloyError, match="'equal'"):
        create("equal")
    assert create("equal").name == "equal"
    assert len(reads) == 3


def test_a_second_method_of_the_same_name_is_refused(monkeypatch):
    install(monkeypatch, Impostor)
    with pytest.raises(AlloyError, match=r"'muka' again.*outside:Impostor"):
        methods()


@pytest.mark.parametrize(
    ("weights", "targets"), [(-1.0, 1.0), (1.0, float("nan")), (float("inf"), 1.0)], ids=["negative", "nan", "infinite"]
)
def test_numbers_from_which_no_student_can_learn_are_refused(weights, targets):
    class Odd(Method):
        name = "odd"

        def supervise(self, rows, context):
            found = torch.full((len(rows.labels), context.space.size), targets / context.space.size)
            return Supervision(found, weights * uniform_weights(found))

    rows, context = rows_of("disjoint"), Context(space_of("disjoint"))
    with pytest.raises(ValueError, match=f"'odd' gave {'targets' if targets != 1 else 'weights'} with a negative"):
        supervised(registry.build(Odd, {}), rows, context, len(rows.labels))


def _no_library():
    raise ModuleNotFoundError("No module named 'no_such_library'")


@pytest.mark.parametrize(
    ("load", "got"),
    [
        (_no_library, "ModuleNotFoundError while it was imported: No module named 'no_such_library'"),
        (lambda: dict, "class 'dict'.*`name` None"),
        (lambda: Equal, "Equal.*`name` 'equal'"),
    ],
)
def test_a_package_whose_method_cannot_be_used_is_named(monkeypatch, load, got):
    """Every command reads the entry points, so its user must learn which package is at fault."""
    entry = SimpleNamespace(name="other", value="outside:Other", load=load)
    monkeypatch.setattr(registry, "installed_methods", cache(lambda: (entry,)))
    with pytest.raises(AlloyError, match=rf"method 'other' .*\(entry point 'outside:Other'\).*{got}"):
        create("muka")


def test_every_built_in_method_is_named_once():
    names = [method.name for method in registry.BUILT_IN]
    assert len(set(names)) == len(names)
    assert set(names) <= set(methods())


@pytest.mark.parametrize("key", [1, None, True, 2.5])
def test_an_option_whose_name_is_no_text_is_refused(key):
    with pytest.raises(AlloyError, match=f"names of options of method 'muka'; got the key {key}"):
        create({"name": "muka", key: 1})
    with pytest.raises(AlloyError, match="of method 'ensemble'"):
        create({"name": "routing", "of": {"name": "ensemble", key: 1}})
