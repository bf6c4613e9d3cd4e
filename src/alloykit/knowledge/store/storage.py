"""Files of the store behind any fsspec path; local ones are replaced atomically."""

from __future__ import annotations

import hashlib
from pathlib import Path

import fsspec

from alloykit.files import check_writing, file_errors, write_atomic


class Storage:
    """A folder: on a local disk, or anything that fsspec opens (`s3://…`, `memory://…`). AlloyError if a file cannot be read or written."""

    def __init__(self, url: str | Path) -> None:
        self.url = str(url)
        self.fs, self.root = fsspec.core.url_to_fs(self.url)
        self.is_local = (
            "file" in self.fs.protocol if not isinstance(self.fs.protocol, str) else self.fs.protocol == "file"
        )

    def path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        with file_errors(self.path(name)):
            return bool(self.fs.isfile(self.path(name)))

    def read(self, name: str) -> bytes:
        with file_errors(self.path(name)):
            return bytes(self.fs.cat_file(self.path(name)))

    def names(self, folder: str) -> list[str]:
        """Names of the files in a folder, sorted; none if there is no such folder."""
        where = self.path(folder)
        with file_errors(where):
            self.fs.invalidate_cache(where)  # other processes write there too
            if not self.fs.exists(where):
                return []
            found = self.fs.ls(where, detail=True)
        return sorted(str(entry["name"]).rsplit("/", 1)[-1] for entry in found if entry["type"] == "file")

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically: under another name, synced, then renamed."""
        if self.is_local:
            write_atomic(Path(self.path(name)), data)
            return
        check_writing(self.path(name))
        temporary = self.path(f"{name}.tmp-{hashlib.sha256(data).hexdigest()[:8]}")
        with file_errors(self.path(name)):
            self.fs.makedirs(self.path(name).rsplit("/", 1)[0], exist_ok=True)
            self.fs.pipe_file(temporary, data)
            self.fs.mv(temporary, self.path(name))
