"""A run in, its student as ONNX out."""

from __future__ import annotations

from pathlib import Path

from alloykit.data import columns_beside
from alloykit.errors import AlloyError
from alloykit.finished_runs.export_student import MIN_AGREEMENT, export_student
from alloykit.paths import user_path
from alloykit.run_folder.run_folder import RunFolder, folder_of


def export(
    run: str | Path | RunFolder,
    *,
    int8: bool = False,
    fp16: bool = False,
    min_agreement: float = MIN_AGREEMENT,
    texts: str | Path | None = None,
    output: str | Path | None = None,
    text: str = "text",
    text_pair: str | None = None,
    trust_remote_code: bool = False,
) -> Path:
    """Write a student as ONNX and compare its answers with PyTorch's. The same as `alloykit export --onnx`, from Python.

    run: a run, its folder, or a model folder. int8, fp16: add graphs in 8-bit integers or in float16. min_agreement: the least share of the
    texts on which these graphs must give the student's label. texts: texts to calibrate and to
    compare on; default: those of the run's recipe. output: default `export/onnx` in the run folder. text, text_pair: columns of
    `texts`. trust_remote_code: run code that comes with the student. Returns the folder. AlloyError if the answers differ; then nothing is written.
    """
    columns_beside(texts, text=text, text_pair=text_pair)
    if min_agreement != MIN_AGREEMENT and not (int8 or fp16):
        raise AlloyError(
            expected="`int8` or `fp16` with `min_agreement`",
            got="neither",
            hint="The float32 graph has a limit of its own.",
        )
    return export_student(
        folder_of(run), int8=int8, fp16=fp16, min_agreement=min_agreement, texts=texts, output=None if output is None else user_path(output), text=text,
        text_pair=text_pair, trust_remote_code=trust_remote_code,
    )  # fmt: skip
