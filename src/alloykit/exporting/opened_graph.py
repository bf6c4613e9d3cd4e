"""Open a graph of a student that is not in a file yet."""

from __future__ import annotations

from alloykit.models.onnx_session import onnx_session
from alloykit.serving.onnx_predictor import OnnxPredictor
from alloykit.serving.predictor import Predictor


def opened_graph(graph: bytes, predictor: Predictor) -> OnnxPredictor:
    """The graph as a classifier, with everything else as the student in PyTorch has it."""
    return OnnxPredictor(
        onnx_session(graph), predictor.tokenizer, predictor.labels, predictor.max_length, predictor.temperature,
        predictor.long_texts, predictor.folder, questions=predictor.questions, multi_label=predictor.multi_label,
        one_length=predictor.one_length,
    )  # fmt: skip
