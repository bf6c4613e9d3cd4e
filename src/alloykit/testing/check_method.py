"""`check_method`: whether a method keeps to the contract of methods/protocol.py. Rules are in testing/rules.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.methods.protocol import Method
from alloykit.testing.rules import RULES, Reorder, Subject

__all__ = ["RULES", "check_method", "check_rule"]


def check_method(
    method: type[Method],
    options: Mapping[str, Any] | None = None,
    *,
    reorder: Reorder | None = None,
    skip: Sequence[str] = (),
) -> None:
    """Run the whole contract on a method, which need not be registered: on random outputs of three teachers, in seconds, without models.

    method: the class. options: its options, as in a recipe; `of` for a method that wraps another one.
    reorder: (all options, order) → the options that mean the same when teacher `order[k]` becomes the k-th. The default moves `which` and
    `weights`, also inside `of`. skip: names of rules (keys of `alloykit.testing.RULES`) that shall not hold.

    Raises AssertionError, which names the method, the rule and what was found; ValueError for an unknown rule in `skip`.
    """
    if unknown := sorted(set(skip) - set(RULES)):
        raise ValueError(f"there is no rule {unknown[0]!r}; there are {', '.join(map(repr, RULES))}")
    for rule in RULES:
        if rule not in skip:
            check_rule(method, rule, options, reorder=reorder)


def check_rule(
    method: type[Method], rule: str, options: Mapping[str, Any] | None = None, *, reorder: Reorder | None = None
) -> None:
    """One rule of `RULES` alone; AssertionError where the method breaks it."""
    subject = Subject(method, dict(options or {}), reorder)
    head = f"method '{getattr(method, 'name', method.__name__)}' breaks the rule '{rule}'"
    try:
        RULES[rule](subject)
    except AssertionError as error:
        raise AssertionError(f"{head}: {error}") from error
    except Exception as error:
        raise AssertionError(f"{head}: it raised {type(error).__name__}: {error}") from error
