"""Label files of texts in a stream: one Parquet file of answers for each file, by this process or by several workers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from alloykit.data.readers import FORMATS, RawTable, format_of, read_file
from alloykit.data.table import row_problem
from alloykit.engines.choose import engine_of, engine_options
from alloykit.engines.jobs import Job
from alloykit.errors import AlloyError
from alloykit.files import file_errors, replace_atomic
from alloykit.methods.multi_label import GIVEN
from alloykit.models.location import model_identity
from alloykit.progress import log_line
from alloykit.run_folder.run_folder import RunFolder, classifier_folder, folder_of
from alloykit.serving.predictor import Predictor

ROWS = 4096  # rows that are read, answered and written at a time
ABOUT = b"alloykit"  # the key in a Parquet file's metadata that says what its answers were made of


@dataclass(frozen=True)
class Request:
    """What is asked of every file."""

    model: Path
    columns: tuple[str, ...]
    all_probabilities: bool
    trust_remote_code: bool


@dataclass(frozen=True)
class TextsFile:
    """A file of texts, the file for its answers, and what the answers are made of."""

    path: Path
    answers: Path
    about: str


def predict_files(
    run: str | Path | RunFolder,
    texts: str | Path,
    to: str | Path,
    *,
    all_probabilities: bool = False,
    text: str = "text",
    text_pair: str | None = None,
    engine: Any = None,
    trust_remote_code: bool = False,
) -> list[Path]:
    """Write the labels of every file of texts as a Parquet file into the folder `to`. Returns these files.

    Each has one row per input row, in order: row (int64), label and probability (null without a usable text), error (why), and with
    `all_probabilities` the probability of every label. A student that answers several questions has columns such as `topic.label`. A
    multi-label student has `labels`, a list of those of at least 0.5, in place of label and probability.

    Finished files of the same texts and model are kept. engine: what computes. Memory holds some thousand rows. AlloyError.
    """
    folder, place, target = folder_of(run), Path(texts), Path(to)
    model = classifier_folder(folder)
    columns = (text,) if text_pair is None else (text, text_pair)
    request = Request(model, columns, all_probabilities, trust_remote_code)
    if target.resolve() == place.resolve():
        raise AlloyError(
            expected="another folder for the answers than that of the texts",
            got=f"'{target}'",
            hint="For instance `--to answers/`.",
        )
    if not (model / "config.json").exists():
        Predictor.load(model)  # says what is missing
    made_of = {"model": model_identity(str(model), None), "columns": columns, "all": all_probabilities}
    files = [
        TextsFile(path, target / f"{path.name}.parquet", json.dumps(made_of | {"file": _state(path)}))
        for path in _files(place)
    ]
    left = [file for file in files if not _is_done(file)]
    if len(left) < len(files):
        log_line(f"predict: {len(files) - len(left)} of {len(files)} files are finished already")
    jobs = [Job("student", file, 1) for file in left]
    for _ in engine_of(engine_options(engine)).run(jobs, _Maker(request), "predict", "files"):
        pass
    return [file.answers for file in files]


def _files(place: Path) -> list[Path]:
    with file_errors(place):
        found = sorted(place.iterdir()) if place.is_dir() else [place]
    # The last name stays, because the answers are named after it: links to files of one name in several folders are several files.
    files = [
        path.parent.resolve() / path.name
        for path in found
        if path.is_file() and format_of(path) in FORMATS and path.name[0] != "."
    ]
    if not files:
        raise AlloyError(
            expected=f"files of texts in '{place}' ({', '.join(FORMATS)})",
            got="none" if place.exists() else "no such file or folder",
            hint="Check the path.",
        )
    return files


def _state(path: Path) -> list[int | str]:
    found = path.stat()
    return [path.name, found.st_size, found.st_mtime_ns]


def _is_done(file: TextsFile) -> bool:
    import pyarrow.parquet as pq

    if not file.answers.is_file():  # a pipe would wait for a writer
        return False
    try:
        with file.answers.open("rb") as content:
            return bool((pq.read_schema(content).metadata or {}).get(ABOUT) == file.about.encode())
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        NotImplementedError,
    ):  # not whole: Arrow's errors are of these kinds
        return False


@dataclass(frozen=True)
class _Maker:
    request: Request

    def __call__(self) -> _PredictWorker:
        return _PredictWorker(self.request)


class _PredictWorker:
    def __init__(self, request: Request) -> None:
        self.request = request
        self.classifier = Predictor.load(request.model, trust_remote_code=request.trust_remote_code)
        # Of each question: the prefix of its columns, its first label, its labels, and whether a text may have several of them. Other students
        # have one, without a prefix.
        parts = [(f"{part.name}.", part.first, part.labels, part.multi_label) for part in self.classifier.questions]
        self._answered = parts or [("", 0, self.classifier.labels, self.classifier.multi_label)]

    def __call__(self, job: Job) -> None:
        file: TextsFile = job.payload
        replace_atomic(file.answers.absolute(), lambda part: self._write(file, part))

    def _write(self, file: TextsFile, part: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [("row", pa.int64())]
        for prefix, _, _, several in self._answered:
            if several:
                names += [(f"{prefix}labels", pa.list_(pa.string()))]
            else:
                names += [(f"{prefix}label", pa.string()), (f"{prefix}probability", pa.float32())]
        names += [("error", pa.string())]
        if self.request.all_probabilities:
            names += [(f"p({label})", pa.float32()) for label in self.classifier.labels]
        schema, done = pa.schema(names, {ABOUT: file.about.encode()}), 0
        with part.open("wb") as out, pq.ParquetWriter(out, schema) as writer:  # Arrow itself needs names in UTF-8
            for rows in _chunks(_checked(file.path, self.request.columns)):
                writer.write_batch(pa.record_batch(self._answers(rows, done), schema=schema))
                done += len(rows)

    def _answers(self, rows: Sequence[Sequence[Any]], first: int) -> list[Any]:
        """The columns of some rows."""
        import numpy as np
        import pyarrow as pa

        problems = [row_problem(*row) for row in rows]
        at = [i for i, problem in enumerate(problems) if not problem]
        labels = self.classifier.labels
        p = np.full((len(rows), len(labels)), np.nan, dtype=np.float32)
        if at:
            pairs = [rows[i][1] for i in at] if len(self.request.columns) > 1 else None
            p[at] = self.classifier.probabilities([rows[i][0] for i in at], pairs, "prediction", progress=False).numpy()
        without = np.isnan(p[:, 0])
        columns = [pa.array(range(first, first + len(rows)), pa.int64())]
        for _, start, own, several in self._answered:
            part = p[:, start : start + len(own)]
            if several:
                given = [
                    None if lacks else [label for label, q in zip(own, row, strict=True) if q >= GIVEN]
                    for row, lacks in zip(part, without, strict=True)
                ]
                columns.append(pa.array(given, pa.list_(pa.string())))
                continue
            best = np.where(without, 0, np.nan_to_num(part).argmax(-1))
            chosen = [None if lacks else own[i] for i, lacks in zip(best, without, strict=True)]
            columns += [
                pa.array(chosen, pa.string()),
                pa.array(part[np.arange(len(rows)), best], pa.float32(), mask=without),
            ]
        columns.append(pa.array([problem or None for problem in problems], pa.string()))
        every = range(len(labels)) if self.request.all_probabilities else ()
        return columns + [pa.array(p[:, i], pa.float32(), mask=without) for i in every]


def _checked(path: Path, columns: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The rows of a file, as values of these columns. AlloyError for a missing column."""
    table: RawTable = read_file(path, list(columns))
    if missing := [name for name in columns if name not in table.columns]:
        raise AlloyError(
            expected=f"a column '{missing[0]}' in '{path}'",
            got=", ".join(table.columns),
            hint="Name the column: `--text COLUMN`.",
        )
    yield from table.rows


def _chunks(rows: Iterator[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    while chunk := list(islice(rows, ROWS)):
        yield chunk
