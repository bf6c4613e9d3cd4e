"""Which format a file has, and the errors of reading one."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alloykit.errors import AlloyError

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".parquet")


def format_of(path: Path) -> str:
    """The ending that names the format, without ".gz"."""
    name = Path(path.name.lower())
    # A gzipped parquet file could not be read in pieces; parquet compresses its own columns.
    inner = Path(name.stem).suffix
    return inner if name.suffix == ".gz" and inner != ".parquet" else name.suffix


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Errors of reading a file, inside, become AlloyErrors."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise AlloyError(
            expected=f"UTF-8 text in '{path}'",
            got=f"the byte 0x{error.object[error.start]:02x} ({error.reason})",
            hint="Save it as UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8`.",
        ) from error
    except gzip.BadGzipFile as error:
        raise AlloyError(
            expected=f"a gzip file in '{path}', as its name says",
            got=f"'{error}'",
            hint="If it is not packed, let its name end without .gz. Else copy or download it again.",
        ) from error
    except (
        OSError,
        EOFError,
        ValueError,
        OverflowError,
        NotImplementedError,
        LookupError,
        TypeError,
        zlib.error,
    ) as error:
        # Arrow's errors are of all these kinds; OverflowError: times that Python's types cannot hold
        raise AlloyError(expected=f"a readable file '{path}'", got=f"{type(error).__name__}: {error}") from error
