"""`check_method`: test a method against the contract of methods/protocol.py. The rules are in testing/rules.py."""

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
    """Run all rules of the contract on a method, with random outputs of three teachers. It takes seconds and needs no models.

    method: the class, which need not be registered. options: its options, as in a recipe; `of` for a method that wraps another one.
    reorder: (all options, order) → the options with the same meaning after teacher `order[k]` has become the k-th. The default changes
    `which` and `weights`, also inside `of`. skip: names of rules (keys of `alloykit.testing.RULES`) that are not run.

    Raises AssertionError with the method, the rule and the problem; ValueError for an unknown rule in `skip`.
    """
    if unknown := sorted(set(skip) - set(RULES)):
        raise ValueError(f"there is no rule {unknown[0]!r}; there are {', '.join(map(repr, RULES))}")
    for rule in RULES:
        if rule not in skip:
            check_rule(method, rule, options, reorder=reorder)


def check_rule(
    method: type[Method], rule: str, options: Mapping[str, Any] | None = None, *, reorder: Reorder | None = None
) -> None:
    """Run a single rule of `RULES`. AssertionError if the method breaks it."""
    subject = Subject(method, dict(options or {}), reorder)
    head = f"method '{getattr(method, 'name', method.__name__)}' breaks the rule '{rule}'"
    try:
        RULES[rule](subject)
    except AssertionError as error:
        raise AssertionError(f"{head}: {error}") from error
    except Exception as error:
        raise AssertionError(f"{head}: it raised {type(error).__name__}: {error}") from error
