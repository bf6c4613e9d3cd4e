"""A PyTorch classifier as an ONNX graph in float32."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from alloykit.errors import AlloyError
from alloykit.models.head_input import HeadInput
from alloykit.models.onnx_session import onnx_package
from alloykit.models.questions import temperatures
from alloykit.models.tokens import encode, pad
from alloykit.serving.onnx_predictor import LOGITS, STATES, output_of
from alloykit.serving.predictor import Predictor

OPSET = 17
EXAMPLES = ["a text", "a longer text, so that the batch has padding"]


class _Calibrated(nn.Module):
    """Token tensors in the order of `names` → logits / T, with `states` what the classification head reads, and the part of each question."""

    def __init__(self, predictor: Predictor, names: list[str], states: bool) -> None:
        super().__init__()
        self.model, self.names, self.states, self.questions = predictor.model, names, states, predictor.questions
        self.temperature = temperatures(self.questions) if self.questions else predictor.temperature

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        with HeadInput(self.model) as head:
            logits: Tensor = self.model(**dict(zip(self.names, inputs, strict=True))).logits
        scaled = logits / self.temperature
        states = (head.states(logits),) if self.states else ()
        return (scaled, *states, *(question.of(scaled) for question in self.questions))


def float_graph(predictor: Predictor) -> bytes:
    """The classifier as a serialised ONNX graph: int64 [batch, length] inputs under the tokenizer's names → `logits`, the student's logits
        divided by its temperature, float32 [batch, labels]. A student that can say how unusual a text is has a second output, `states`: what its
        head reads, float32 [batch, d]. A student of several questions has one more output for each question, `logits.NAME`: its part of `logits`, each
    of which is divided by the temperature of its question.

        torch's TorchScript-based exporter writes it: it traces the models of transformers in seconds and needs no other package. If `predict`
        computes only the first token in the last layer, the graph does so too. AlloyError for a model that cannot be exported.
    """
    onnx_package("onnx")
    batch = pad(predictor.tokenizer, encode(predictor.tokenizer, EXAMPLES, None, predictor.max_length))
    names = list(batch)
    graph: Any = io.BytesIO()  # torch writes to it, although its signature names paths only
    outputs = [LOGITS, STATES] if predictor.knows_unusual else [LOGITS]
    wrapped = _Calibrated(predictor, names, STATES in outputs).eval()
    outputs += [output_of(question.name) for question in predictor.questions]
    axes = {name: {0: "batch", 1: "length"} for name in names} | {name: {0: "batch"} for name in outputs}
    attention = getattr(predictor.model.config, "_attn_implementation", None)
    try:
        predictor.model.set_attn_implementation("eager")  # gives fewer nodes than torch's own attention
        with warnings.catch_warnings(), torch.no_grad(), predictor.lean, _no_graph_on_output():
            # The warnings are about values that the trace fixes. The answers are compared afterwards.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                wrapped, tuple(batch.values()), graph, input_names=names, output_names=outputs, dynamic_axes=axes,
                opset_version=OPSET, dynamo=False,
            )  # fmt: skip
    except Exception as error:  # torch raises many kinds
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise AlloyError(
            expected="a student that torch can export to ONNX",
            got=f"'{lines[0][:300]}' for the architecture {predictor.model.config.model_type}",
            hint="Take a student of another architecture, such as BERT, DistilBERT, RoBERTa, MPNet or ELECTRA.",
        ) from error
    finally:
        if attention is not None:
            predictor.model.set_attn_implementation(attention)
    content: bytes = graph.getvalue()
    return content


@contextmanager
def _no_graph_on_output() -> Iterator[None]:
    """If torch cannot export a model, it writes thousands of lines of its graph to standard output, whatever its switch says: it tests the function
    that reads the switch (a function is true) in place of calling it."""
    name = "_jit_is_onnx_log_enabled"
    before = getattr(torch._C, name, None)
    setattr(torch._C, name, None)
    try:
        yield
    finally:
        setattr(torch._C, name, before)
