"""Digests of values."""

from __future__ import annotations

from alloykit.digests import digest


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": {"x": 1, "y": 2}, "b": 3}) == digest({"b": 3, "a": {"y": 2, "x": 1}})
    assert digest([1, 2]) != digest([2, 1])
    assert digest({"path": "\udcff"}) != digest({"path": "x"}), "what UTF-8 cannot hold"
