"""All positions but a few are the array without them."""

from __future__ import annotations

import numpy as np
import pytest

from alloykit.training.all_but import AllBut


@pytest.mark.parametrize("without", [[], [0], [9], [0, 1, 2], [3, 4, 9], list(range(10))])
def test_it_is_the_array_without_them(without: list[int]) -> None:
    expected = np.delete(np.arange(10), without)
    found = AllBut(10, np.array(without, np.int64))
    assert len(found) == len(expected)
    np.testing.assert_array_equal(found[np.arange(len(found))], expected)
    assert [int(i) for i in found] == expected.tolist()  # type: ignore[attr-defined]
    for beyond in (len(found), -1, np.array([0, len(found)])):
        with pytest.raises(IndexError):
            found[beyond]
