"""Peak resident memory of this program."""

from __future__ import annotations

from pathlib import Path


def peak() -> float:
    """MB, of this program since it began. (ru_maxrss would count the process that started it.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
