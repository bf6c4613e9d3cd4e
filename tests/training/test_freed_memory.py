"""Freed memory is used again, without the page faults of memory that was given back."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
import numpy as np
from alloykit.training.freed_memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        blocks = [np.ones(1 << 20) for _ in range(20)]  # 8 MB each
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
without = faults()
assert keep_freed_memory()
faults()
print(without, faults())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_memory_that_was_freed_causes_no_page_faults() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    without, kept = map(int, done.stdout.split())
    assert kept < without / 5
