"""Every method, one line each. Packages add theirs through the entry-point group `alloykit.methods`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from alloykit.errors import AlloyError
from alloykit.methods.adaptive_ensembles import AdaptiveEnsemble, DissimilarityEnsemble
from alloykit.methods.alloy.method import Alloy
from alloykit.methods.as_dfd.method import AsDfd
from alloykit.methods.cfl import CFL
from alloykit.methods.dfa import DFA
from alloykit.methods.distilbert import DistilBert
from alloykit.methods.ensemble import Ensemble
from alloykit.methods.ensembles import (
    BestSingle,
    DevFittedEnsemble,
    RandomSingle,
    SingleKD,
    TrainFittedEnsemble,
    UniformEnsemble,
    WeightedEnsemble,
)
from alloykit.methods.mt_bert import MTBert
from alloykit.methods.muka.method import Muka
from alloykit.methods.multi_label import MultiLabel
from alloykit.methods.oracle_routing import OracleRouting
from alloykit.methods.pkd import PKD
from alloykit.methods.protocol import Method
from alloykit.methods.pseudo_label import PseudoLabel
from alloykit.methods.rl_kd.method import RLKD
from alloykit.methods.routing import Routing
from alloykit.methods.stratanet.method import StrataNet
from alloykit.methods.supervised import Supervised
from alloykit.methods.teacher import TeacherAlone
from alloykit.methods.tinybert import TinyBert
from alloykit.methods.uhc import UHC
from alloykit.methods.vanilla_kd import VanillaKD
from alloykit.names import nearest_name, shown

BUILT_IN: tuple[type[Method], ...] = (
    Muka,
    Alloy,
    VanillaKD,
    UHC,
    DFA,
    CFL,
    PseudoLabel,
    OracleRouting,
    Supervised,
    TeacherAlone,
    Ensemble,
    Routing,
    MultiLabel,
    StrataNet,
    AsDfd,
    MTBert,
    RLKD,
    SingleKD,
    UniformEnsemble,
    WeightedEnsemble,
    RandomSingle,
    TrainFittedEnsemble,
    DevFittedEnsemble,
    BestSingle,
    DissimilarityEnsemble,
    AdaptiveEnsemble,
    DistilBert,
    PKD,
    TinyBert,
)


def methods() -> dict[str, type[Method]]:
    """All methods by name: the built-in ones, then those of installed packages. AlloyError for a package whose method cannot be imported, or has a name
    that is taken."""
    found = {method.name: method for method in BUILT_IN}
    for entry in installed_methods():
        method = _loaded(entry)
        if method.name in found:
            raise AlloyError(
                expected="every method's name once",
                got=f"'{method.name}' again, from package entry point '{entry.value}'",
                hint="Rename it or uninstall that package.",
            )
        found[method.name] = method
    return found


def _loaded(entry: EntryPoint) -> type[Method]:
    """The class that a package names. AlloyError if it cannot be imported, or is no method of the entry point's name."""
    try:
        found = entry.load()
    except Exception as error:  # a package's own code, which may raise anything
        got = f"{type(error).__name__} while it was imported: {error}"
    else:
        if isinstance(found, type) and issubclass(found, Method) and getattr(found, "name", None) == entry.name:
            return found
        got = f"{shown(found)} with the `name` {shown(getattr(found, 'name', None))}"
    raise AlloyError(
        expected=f"method '{entry.name}' of an installed package (entry point '{entry.value}'): a subclass of Method with this `name`",
        got=got,
        hint="Repair or uninstall the package that has this module.",
    )


@cache
def installed_methods() -> tuple[EntryPoint, ...]:
    """The entry points of installed packages. Kept, because Python reads a file of every installed package for them."""
    return tuple(entry_points(group="alloykit.methods"))


def create(spec: str | Mapping[str, Any]) -> Method:
    """Build a method from its name, or from `{name: …, **options}`.

    Raises AlloyError for an unknown name, for a method that does not fit in `of`, and as `methods` does; pydantic's ValidationError for wrong options.
    """
    options = {"name": spec} if isinstance(spec, str) else dict(spec)
    name = options.pop("name", None)
    method = method_class(name)
    odd = [key for key in options if not isinstance(key, str)]
    if odd:
        raise AlloyError(expected=f"names of options of method '{name}'", got=f"the key {shown(odd[0])}")
    return build(method, options)


def method_class(name: Any) -> type[Method]:
    """The method of this name. AlloyError if there is none, which names a similar one, and as `methods` does."""
    known = methods()
    if not isinstance(name, str) or name not in known:
        installed_methods.cache_clear()  # a notebook may have installed its package since
        known = methods()
    if not isinstance(name, str) or name not in known:
        guess = nearest_name(str(name), known)
        raise AlloyError(
            expected="a method's name",
            got=shown(name),
            hint=(f"Did you mean '{guess}'? " if guess else "") + f"There are {', '.join(known)}.",
        )
    return known[name]


def build(method: type[Method], options: Mapping[str, Any]) -> Method:
    """A method of this class, which need not be registered. options: its own, and `of` where it wraps another one.

    Raises as `create` does.
    """
    options, inner, name = dict(options), None, method.name
    if method.default_inner is not None:
        inner = create(options.pop("of", method.default_inner))
        if inner.inner is not None or inner.needs.teachers == 0 or not inner.single_target:
            raise AlloyError(
                expected=f"a method with a single target over all labels in `of` of '{name}'",
                got=f"'{inner.name}'",
                hint="For instance `of: {name: muka, mode: hard}` or `of: ensemble`.",
            )
    return method(method.Options(**options), inner)


def spec_of(method: Method) -> dict[str, Any]:
    """The complete `method:` block that builds this method again, every default written out."""
    spec: dict[str, Any] = {"name": method.name, **method.options.model_dump(mode="json")}
    return spec | ({"of": spec_of(method.inner)} if method.inner is not None else {})
