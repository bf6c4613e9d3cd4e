"""Label the texts of a file, a stream or a list: one answer for every input row, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from alloykit.data import load_texts, refuse_columns
from alloykit.data.first_bytes import refuse_other_kinds
from alloykit.data.limits import MAX_TEXT, lines_of
from alloykit.data.table import row_problem
from alloykit.errors import AlloyError
from alloykit.finished_runs.load_student import load_student
from alloykit.serving.check_texts import check_strings
from alloykit.serving.text_answers import AnswerKeys, empty_answer, text_answers

DIGITS = 6  # decimals of every number in an answer


@dataclass(frozen=True)
class _Input:
    """The usable texts of the input. `rows`: the input row of each. `total`: how many rows the input has."""

    texts: list[str]
    pairs: list[str | None] | None
    rows: list[int]
    total: int


def predict_texts(
    folder: Path,
    origin: str | Path | TextIO | Sequence[str],
    keys: AnswerKeys,
    *,
    text: str,
    text_pair: str | None,
    trust_remote_code: bool,
    onnx: bool,
) -> Iterator[dict[str, Any]]:
    """Yield {row} and the answer of each input row, as `commands/predict.py: predict` describes. folder: of a run or of a model. AlloyError."""
    if not isinstance(origin, (str, Path)):
        if not hasattr(origin, "read"):
            check_strings(origin)
        refuse_columns(
            "for a stream or a list of texts, which has no columns", "Name a file.", text=text, text_pair=text_pair
        )
    classifier = load_student(folder, onnx=onnx, trust_remote_code=trust_remote_code)
    keys.check(classifier)
    found = _of_file(origin, text, text_pair) if isinstance(origin, (str, Path)) else _of_lines(origin)
    if not found.texts:
        raise AlloyError(expected="at least one text", got="none", hint="Give a file, or pipe one text per line.")
    answers = text_answers(classifier, found.texts, found.pairs, keys, "prediction", digits=DIGITS)
    answer_of_row = dict(zip(found.rows, answers, strict=True))
    for row in range(found.total):
        if row in answer_of_row:
            yield {"row": row} | answer_of_row[row]
        else:
            yield {"row": row} | empty_answer(classifier) | {"error": "no usable text in this row"}


def _of_file(origin: str | Path, text: str, text_pair: str | None) -> _Input:
    found = load_texts(origin, text=text, text_pair=text_pair)
    return _Input(list(found.table["text"]), found.pairs, list(found.table["source_row"]), found.total)


def _of_lines(origin: TextIO | Sequence[str]) -> _Input:
    """One text per line of a stream, or per string of a list. AlloyError for a stream that is not UTF-8."""
    stream = cast(TextIO, origin) if hasattr(origin, "readline") else None
    if (peek := getattr(getattr(stream, "buffer", None), "peek", None)) is not None:
        refuse_other_kinds(peek(64), "on standard input", stream=True)
    try:
        given = origin if stream is None else lines_of(stream, "standard input", MAX_TEXT)
        lines = [line.rstrip("\r\n") for line in given]
        if stream is not None and lines:
            lines[0] = lines[0].removeprefix("\ufeff")  # a byte-order mark, as in files
    except UnicodeDecodeError as error:
        raise AlloyError(
            expected="UTF-8 text on standard input",
            got=f"the byte 0x{error.object[error.start]:02x} ({error.reason})",
            hint="Convert it, for example with `iconv -f WINDOWS-1252 -t UTF-8`.",
        ) from error
    rows = [row for row, line in enumerate(lines) if not row_problem(line)]
    return _Input([lines[row] for row in rows], None, rows, len(lines))
