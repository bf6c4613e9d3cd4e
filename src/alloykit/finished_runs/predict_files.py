"""Label files of texts in a stream: one Parquet file of answers for each file, by this process or by the workers of a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from alloykit.data.parts_of_file import PartsOfFile
from alloykit.data.raw_tables import files_of, warn_of_skipped
from alloykit.digests import digest, known_sha256
from alloykit.engines.choose import engine_options, part_engine_of
from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors
from alloykit.files import replace_atomic
from alloykit.finished_runs.load_student import load_student
from alloykit.finished_runs.part_answers import AnswersMaker, Request
from alloykit.models.forward import Advance
from alloykit.models.location import model_identity
from alloykit.paths import user_path
from alloykit.progress import bar, log_line
from alloykit.run_folder.run_folder import RunFolder, classifier_folder, folder_of, onnx_folder
from alloykit.serving.onnx_predictor import GRAPHS
from alloykit.serving.text_answers import AnswerKeys

ROWS = 4096  # rows that are read, answered and written at a time
ABOUT = b"alloykit"  # the key in a Parquet file's metadata that says what its answers were made of


@dataclass(frozen=True)
class TextsFile:
    """A file of texts, the file for its answers, what the answers are made of, and the digest of the place of the texts."""

    path: Path
    answers: Path
    made_of: dict[str, Any]
    place: str

    @property
    def about(self) -> str:
        """What is written into the file of answers. The place is a digest, because answers may be passed on."""
        return json.dumps(self.made_of | {"place": self.place})


def predict_files(
    run: str | Path | RunFolder,
    texts: str | Path,
    to: str | Path,
    *,
    all_probabilities: bool = False,
    none_of_these: bool = False,
    estimated_accuracy: bool = False,
    text: str = "text",
    text_pair: str | None = None,
    engine: Any = None,
    trust_remote_code: bool = False,
    onnx: bool = False,
) -> list[Path]:
    """Write the labels of every file of texts as a Parquet file into the folder `to`. Returns these files.

    Each has one row per input row, in order: row (int64), label and probability (null without a usable text), none_of_these and
    estimated_accuracy if they are asked for, error (why), and with `all_probabilities` the probability of every label. A student that answers several questions has columns such as `topic.label`. A
    multi-label student has `labels`, a list of those of at least 0.5, in place of label and probability.

    Finished files of the same texts and model are kept, and those of changed texts or of another model made again. Warns (AlloyWarning) about
    files of a folder that are not files of texts. AlloyError for answers to a file of the same name in another folder. engine: what computes. Memory holds some thousand rows, also with `engine="ray"`, which
    streams them through Ray Data. AlloyError.
    """
    folder, place, target = folder_of(run), user_path(texts), user_path(to)
    columns = (text,) if text_pair is None else (text, text_pair)
    keys = AnswerKeys(all_probabilities, none_of_these, estimated_accuracy)
    request = Request(folder.absolute(), columns, keys, onnx, trust_remote_code)
    if target.resolve() == place.resolve():
        raise AlloyError(
            expected="another folder for the answers than that of the texts",
            got=f"'{target}'",
            hint="For instance `--to answers/`.",
        )
    made_of = _made_of(folder, request)
    files = [
        TextsFile(path, target / f"{path.name}.parquet", _as_json(made_of | {"file": _state(path)}), digest(str(path)))
        for path in _files(place)
    ]
    left = [file for file in files if not _is_done(file)]
    if len(left) < len(files):
        log_line(f"predict: {len(files) - len(left)} of {len(files)} files are finished already")
    engine = part_engine_of(engine_options(engine))
    with bar("predict", None, "rows") as advance:  # how many there are is known after the last one
        results = _Results(
            engine.stream([file.path for file in left], PartsOfFile(columns, ROWS), AnswersMaker(request))
        )
        for n, file in enumerate(left):
            replace_atomic(file.answers.absolute(), partial(_write, file, results.of(n), advance))
    return [file.answers for file in files]


def _made_of(folder: Path, request: Request) -> dict[str, Any]:
    """What the answers to every file depend on. folder: of a run or of a model. AlloyError if it has no model."""
    model = onnx_folder(folder) if request.onnx else classifier_folder(folder)
    if not (model / "config.json").exists():
        load_student(folder, onnx=request.onnx)  # says what is missing
    keys = request.keys
    found = {"model": model_identity(str(model), None), "columns": request.columns, "all": keys.all_probabilities}
    found |= {name: True for name in ("none_of_these", "estimated_accuracy") if getattr(keys, name)}
    return found | ({"graphs": _graphs(model)} if request.onnx else {})


def _files(place: Path) -> list[Path]:
    skipped: list[str] = []
    with file_errors(place):
        found = files_of(place, skipped)
    warn_of_skipped(place, skipped)
    # The last name stays, because the answers are named after it: links to files of one name in several folders are several files.
    return [path.parent.resolve() / path.name for path in found]


def _graphs(folder: Path) -> dict[str, str]:
    """What identifies the graphs of an ONNX export. The other files are in its identity as a model."""
    return {name: known_sha256(folder / name) for name in GRAPHS.values() if (folder / name).is_file()}


def _state(path: Path) -> list[int | str]:
    found = path.stat()
    return [path.name, found.st_size, found.st_mtime_ns]


def _as_json(value: dict[str, Any]) -> Any:
    """The value as it is when it has been read from JSON."""
    return json.loads(json.dumps(value))


def _is_done(file: TextsFile) -> bool:
    """Whether the answers are there. AlloyError for answers to another file of this name."""
    about = _about(file.answers)
    place = about.pop("place", None)
    if about == file.made_of:
        return place is not None
    if place not in (None, file.place):
        raise AlloyError(
            expected=f"a folder without answers to another file '{file.path.name}'",
            got=f"'{file.answers}', with the answers to a file in another folder",
            hint="Choose another folder, for instance one for each folder of texts, or delete these answers.",
        )
    return False


def _about(answers: Path) -> dict[str, Any]:
    """What the answers in a file were made of; empty if it is not a whole file of answers."""
    import pyarrow.parquet as pq

    if not answers.is_file():  # a pipe would wait for a writer
        return {}
    try:
        with answers.open("rb") as content:
            found = json.loads((pq.read_schema(content).metadata or {})[ABOUT])
    except (OSError, ValueError, LookupError, TypeError, NotImplementedError):  # no Parquet, or no metadata of ours
        return {}
    return found if isinstance(found, dict) else {}


class _Results:
    """The results of all files, taken file by file."""

    def __init__(self, stream: Iterator[tuple[int, Any]]) -> None:
        self._stream = stream
        self._head: tuple[int, Any] | None = None

    def of(self, file: int) -> Iterator[Any]:
        """Those of the next file. It has at least one. AlloyError, so that a file without all of its answers is never finished."""
        self._head = self._head or next(self._stream)
        while self._head is not None and self._head[0] == file:
            result = self._head[1]
            if isinstance(result, AlloyError):
                raise result
            yield result
            self._head = next(self._stream, None)


def _write(file: TextsFile, results: Iterator[Any], advance: Advance, part: Path) -> None:
    import pyarrow.parquet as pq

    first = next(results)
    schema = first.schema.with_metadata({ABOUT: file.about.encode()})
    with part.open("wb") as out, pq.ParquetWriter(out, schema) as writer:  # Arrow itself needs names in UTF-8
        for batch in chain([first], results):
            if batch.num_rows:
                writer.write_batch(batch.replace_schema_metadata(schema.metadata))
                advance(batch.num_rows)
