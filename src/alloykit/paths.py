"""The paths that users give."""

from __future__ import annotations

import os
from pathlib import Path


def user_path(path: str | Path) -> Path:
    """The path, with the home folder instead of a `~` at its beginning. A shell replaces it only where no quotes and no `=` are before it, and never in a
    file. The name of an unknown user stays as it is, and is then reported as missing."""
    try:
        return Path(os.path.expanduser(path))
    except ValueError:  # a NUL character
        return Path(path)
