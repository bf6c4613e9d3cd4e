"""A warning that a test does not expect fails it."""

import warnings

import pytest

from alloykit.errors import AlloyWarning


@pytest.fixture(autouse=True)
def _no_unexpected_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AlloyWarning)
        yield
