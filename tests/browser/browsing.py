"""A browser without a window."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome on PATH")


@dataclass(frozen=True)
class Seen:
    """What a browser printed, and what it logged on the console."""

    out: str
    console: list[str]


def browse(profile: Path, *arguments: str) -> Seen:
    command = [
        str(BROWSER),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
    ]
    done = subprocess.run(
        [*command, f"--user-data-dir={profile}", *arguments], capture_output=True, timeout=120, check=True, text=True
    )
    return Seen(done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line])
