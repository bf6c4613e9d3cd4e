"""Label a file of texts: one JSON line for every input row, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from alloykit.finished_runs.predict_texts import predict_texts
from alloykit.run_folder.run_folder import RunFolder, folder_of
from alloykit.serving.text_answers import AnswerKeys


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
    any label fits. estimated_accuracy: the accuracy of the student's answers with this label, as the run estimated it on its pool.
    trust_remote_code: run code that comes with the model. onnx: read the graph that `export` wrote, in int8 if it is there, with onnxruntime.
    AlloyError, when the first answer is asked for, if there is no student or the texts cannot be read.
    """
    keys = AnswerKeys(all_probabilities, none_of_these, estimated_accuracy)
    return predict_texts(
        folder_of(run), texts, keys, text=text, text_pair=text_pair, trust_remote_code=trust_remote_code, onnx=onnx
    )
