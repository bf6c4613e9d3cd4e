"""A PyTorch classifier as an ONNX graph in float32."""

from __future__ import annotations

import io
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from alloykit.errors import AlloyError
from alloykit.models.onnx_session import onnx_package
from alloykit.models.tokens import encode, pad
from alloykit.serving.predictor import Predictor

OPSET = 17
EXAMPLES = ["a text", "a longer text, so that the batch has padding"]


class _Calibrated(nn.Module):
    """Token tensors in the order of `names` → logits / T."""

    def __init__(self, model: nn.Module, names: list[str], temperature: float) -> None:
        super().__init__()
        self.model, self.names, self.temperature = model, names, temperature

    def forward(self, *inputs: Tensor) -> Tensor:
        logits: Tensor = self.model(**dict(zip(self.names, inputs, strict=True))).logits
        return logits / self.temperature


def float_graph(predictor: Predictor) -> bytes:
    """The classifier as a serialised ONNX graph: int64 [batch, length] inputs under the tokenizer's names → `logits`, the student's logits
    divided by its temperature, float32 [batch, labels].

    torch's TorchScript-based exporter writes it: it traces the models of transformers in seconds and needs no other package. If `predict`
    computes only the first token in the last layer, the graph does so too. AlloyError for a model that cannot be exported.
    """
    onnx_package("onnx")
    batch = pad(predictor.tokenizer, encode(predictor.tokenizer, EXAMPLES, None, predictor.max_length))
    names = list(batch)
    graph: Any = io.BytesIO()  # torch writes to it, although its signature names paths only
    wrapped = _Calibrated(predictor.model, names, predictor.temperature).eval()
    axes = {name: {0: "batch", 1: "length"} for name in names} | {"logits": {0: "batch"}}
    attention = getattr(predictor.model.config, "_attn_implementation", None)
    try:
        predictor.model.set_attn_implementation("eager")  # gives fewer nodes than torch's own attention
        with warnings.catch_warnings(), torch.no_grad(), predictor.lean:
            # The warnings are about values that the trace fixes. The answers are compared afterwards.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                wrapped, tuple(batch.values()), graph, input_names=names, output_names=["logits"], dynamic_axes=axes,
                opset_version=OPSET, dynamo=False,
            )  # fmt: skip
    except Exception as error:  # torch raises many kinds
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise AlloyError(
            expected="a student that torch can export to ONNX",
            got=f"'{lines[0][:300]}' for the architecture {predictor.model.config.model_type}",
            hint="BERT, DistilBERT, RoBERTa, MPNet and ELECTRA students can be exported.",
        ) from error
    finally:
        if attention is not None:
            predictor.model.set_attn_implementation(attention)
    content: bytes = graph.getvalue()
    return content
