"""Label a file of texts: one JSON line for every input row, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from alloykit.data import load_texts
from alloykit.data.limits import MAX_TEXT, lines_of
from alloykit.errors import AlloyError
from alloykit.run_folder.run_folder import RunFolder, classifier_folder, folder_of, onnx_folder
from alloykit.serving.check_texts import check_strings
from alloykit.serving.onnx_predictor import OnnxPredictor
from alloykit.serving.predictor import Predictor
from alloykit.serving.text_answers import AnswerKeys, empty_answer, text_answers
from alloykit.serving.text_classifier import TextClassifier


def predict(
    run: str | Path | RunFolder,
    texts: str | Path | TextIO | Sequence[str],
    *,
    all_probabilities: bool = False,
    none_of_these: bool = False,
    estimated_accuracy: bool = False,
    text: str = "text",
    text_pair: str | None = None,
    trust_remote_code: bool = False,
    onnx: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield {row, label, probability} per input row, with `probabilities` of all labels and `none_of_these` on request. A student that answers
    several questions gives {row, answers}, with the same by question. A multi-label student gives `labels`, those of at least 0.5, and `probabilities`.

    run: a run, its folder, or a model folder. texts: a file as in a recipe's `texts:`, an open stream with one text per line,
    or a list of texts. A row without a usable text gets the label null and the reason in `error`. Probabilities are calibrated with
    the student's temperature. none_of_these: the share of the pool's texts that are less unusual than this text; from 0.95 on, ask whether
    any label fits. estimated_accuracy: the accuracy of the student's answers with this label, as the run estimated it on its pool. trust_remote_code: run code that comes with the model. onnx: read the graph that `export` wrote, in int8 if it is there,
    with onnxruntime. AlloyError.
    """
    folder, origin = folder_of(run), texts
    if not isinstance(origin, (str, Path)) and not hasattr(origin, "read"):
        check_strings(origin)
    classifier: TextClassifier
    if onnx:
        classifier = OnnxPredictor.load(onnx_folder(folder))
    else:
        classifier = Predictor.load(classifier_folder(folder), trust_remote_code=trust_remote_code)
    keys = AnswerKeys(all_probabilities, none_of_these, estimated_accuracy)
    keys.check(classifier)
    if isinstance(origin, (str, Path)):
        table = load_texts(origin, text=text, text_pair=text_pair)
        rows, total = list(table.table["source_row"]), table.total
        first = list(table.table["text"])
        pairs = list(table.table["text_pair"]) if table.is_pair else None
    else:
        try:
            stream = cast(TextIO, origin) if hasattr(origin, "readline") else None
            given = origin if stream is None else lines_of(stream, "standard input", MAX_TEXT)
            lines = [line.rstrip("\r\n") for line in given]
        except UnicodeDecodeError as error:
            raise AlloyError(
                expected="UTF-8 text on standard input",
                got=f"the byte 0x{error.object[error.start]:02x} ({error.reason})",
                hint="Convert it, for example with `iconv -f WINDOWS-1252 -t UTF-8`.",
            ) from error
        rows, total = [i for i, line in enumerate(lines) if line.strip()], len(lines)
        first, pairs = [lines[i] for i in rows], None
    if not first:
        raise AlloyError(expected="at least one text", got="none", hint="Give a file, or pipe one text per line.")
    answers = text_answers(classifier, first, pairs, keys, "prediction", digits=6)
    place = {row: n for n, row in enumerate(rows)}
    for row in range(total):
        if row in place:
            yield {"row": row} | answers[place[row]]
        else:
            yield {"row": row} | empty_answer(classifier) | {"error": "no usable text in this row"}
