from __future__ import annotations

import pytest
from one_task import five_texts

from alloykit.outputs import Rows


@pytest.fixture
def rows() -> Rows:
    return five_texts()
