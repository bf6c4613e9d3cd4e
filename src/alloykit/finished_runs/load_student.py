"""Load the student of a run, or the classifier of a model folder."""

from __future__ import annotations

from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.run_folder.run_folder import classifier_folder, onnx_folder
from alloykit.serving.onnx_predictor import OnnxPredictor
from alloykit.serving.predictor import Predictor


def load_student(
    folder: Path,
    *,
    onnx: bool,
    device: str = "auto",
    trust_remote_code: bool = False,
    threads: int | None = None,
) -> Predictor | OnnxPredictor:
    """The student of a run folder, or the classifier of a model folder.

    onnx: the graph that `alloykit export` wrote, on the CPU; otherwise the model in PyTorch. device: auto, cpu, cuda or mps; of PyTorch only.
    trust_remote_code: run code that comes with the model. threads: of onnxruntime; None: as many as torch has. AlloyError if there is none.
    """
    if onnx and device not in ("auto", "cpu"):
        raise AlloyError(
            expected="device cpu for an ONNX export",
            got=f"'{device}'",
            hint="Leave it out, or use the model in PyTorch.",
        )
    if onnx:
        return OnnxPredictor.load(onnx_folder(folder), threads=threads, trust_remote_code=trust_remote_code)
    return Predictor.load(classifier_folder(folder), device=device, trust_remote_code=trust_remote_code)
