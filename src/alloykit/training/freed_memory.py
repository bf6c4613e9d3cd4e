"""Keep the memory of tensors that are freed, for those of the next step. glibc would give it back to the system and take it again, page by page."""

from __future__ import annotations

import ctypes
import sys

TRIM, MMAP = -1, -3  # names of the settings in glibc's malloc.h
LARGEST = 32 << 20  # bytes of the largest block that comes from the heap; glibc allows no more
KEPT = 512 << 20  # bytes at the end of the heap that are not given back


def keep_freed_memory() -> bool:
    """For the rest of this process. False where the C library has no such setting."""
    if not sys.platform.startswith("linux"):
        return False
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    return setting is not None and bool(setting(MMAP, LARGEST)) and bool(setting(TRIM, KEPT))
