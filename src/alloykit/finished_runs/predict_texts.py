"""Label the texts of a file, a stream or a list: one answer for every input row, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
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
TEXTS_AT_ONCE = 10_000  # so that memory does not grow with the number of texts
WHAT = "prediction"


@dataclass(frozen=True)
class _Part:
    """Some rows of the input. `texts`, `pairs`: the usable texts. `rows`: the input row of each. `end`: the first row after the part. `what`: its name in lines of progress."""

    texts: list[str]
    pairs: list[str | None] | None
    rows: list[int]
    end: int
    what: str


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
    parts = _of_file(origin, text, text_pair) if isinstance(origin, (str, Path)) else _of_lines(origin)
    unusable = empty_answer(classifier) | {"error": "no usable text in this row"}
    row = end = 0
    for part in parts:
        end = part.end
        if not part.texts:
            continue
        answers = text_answers(classifier, part.texts, part.pairs, keys, part.what, digits=DIGITS)
        answer_of_row = dict(zip(part.rows, answers, strict=True))
        for at in range(row, end):
            yield {"row": at} | answer_of_row.get(at, unusable)
        row = end
    if row == 0:
        raise AlloyError(expected="at least one text", got="none", hint="Give a file, or pipe one text per line.")
    for at in range(row, end):
        yield {"row": at} | unusable


def _of_file(origin: str | Path, text: str, text_pair: str | None) -> Iterator[_Part]:
    found = load_texts(origin, text=text, text_pair=text_pair)
    n = len(found)
    for start in range(0, n, TEXTS_AT_ONCE):
        stop = min(start + TEXTS_AT_ONCE, n)
        part = found.select(range(start, stop))
        rows = list(part.table["source_row"])
        end = rows[-1] + 1 if stop < n else found.total
        what = WHAT if n <= TEXTS_AT_ONCE else f"{WHAT} of texts {start + 1:,} to {stop:,} of {n:,}"
        yield _Part(list(part.table["text"]), part.pairs, rows, end, what)


def _of_lines(origin: TextIO | Sequence[str]) -> Iterator[_Part]:
    lines, start = _lines(origin), 0
    while shown := list(islice(lines, TEXTS_AT_ONCE)):
        end = start + len(shown)
        usable = [n for n, line in enumerate(shown) if not row_problem(line)]
        what = WHAT if end < TEXTS_AT_ONCE else f"{WHAT} of lines {start + 1:,} to {end:,}"
        yield _Part([shown[n] for n in usable], None, [start + n for n in usable], end, what)
        start = end


def _lines(origin: TextIO | Sequence[str]) -> Iterator[str]:
    """The lines of a stream, or the strings of a list. AlloyError for a stream that is not UTF-8."""
    if not hasattr(origin, "readline"):
        yield from origin
        return
    stream = cast(TextIO, origin)
    if (peek := getattr(getattr(stream, "buffer", None), "peek", None)) is not None:
        refuse_other_kinds(peek(64), "on standard input", stream=True)
    try:
        for number, line in enumerate(lines_of(stream, "standard input", MAX_TEXT)):
            text = line.rstrip("\r\n")
            yield text if number else text.removeprefix("\ufeff")  # a byte-order mark, as in files
    except UnicodeDecodeError as error:
        raise AlloyError(
            expected="UTF-8 text on standard input",
            got=f"the byte 0x{error.object[error.start]:02x} ({error.reason})",
            hint="Convert it, for example with `iconv -f WINDOWS-1252 -t UTF-8`.",
        ) from error
