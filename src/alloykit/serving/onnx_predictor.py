"""The classifier of an exported ONNX folder, with the methods of `Predictor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.export import IN_GRAPH, estimated_accuracy_of, is_temperature
from alloykit.models.folder import checked_config
from alloykit.models.forward import Budget, forward_texts
from alloykit.models.loading import load_tokenizer
from alloykit.models.onnx_session import onnx_session
from alloykit.models.tokens import DEFAULT_LENGTH, UNLIMITED, encode
from alloykit.progress import bar
from alloykit.serving.prediction import Prediction
from alloykit.serving.predictor import check_texts_and_pairs

OnnxFormat = Literal["float32", "int8", "float16"]
GRAPHS: dict[OnnxFormat, str] = {
    "float32": "onnx/model.onnx",
    "int8": "onnx/model_quantized.onnx",
    "float16": "onnx/model_fp16.onnx",
}
"""The graphs in an exported folder, under the names that transformers.js looks for."""
TOKENS_PER_BATCH = 2048


class OnnxPredictor:
    """A loaded ONNX classifier with its labels, its maximum number of tokens per text and its temperature. It computes on the CPU."""

    device = torch.device("cpu")

    def __init__(
        self,
        session: Any,
        tokenizer: Any,
        labels: Sequence[str],
        max_length: int,
        temperature: float = 1.0,
        estimated_accuracy: Mapping[str, float | None] | None = None,
    ) -> None:
        """session: an onnxruntime session. The `logits` of its graph are already divided by `temperature`."""
        self.session, self.tokenizer, self.max_length = session, tokenizer, max_length
        self.labels, self.temperature = tuple(labels), temperature
        self.estimated_accuracy = dict(estimated_accuracy or {})
        self.inputs = [each.name for each in session.get_inputs()]

    @classmethod
    def load(
        cls,
        folder: str | Path,
        max_length: int | None = None,
        *,
        number_format: OnnxFormat | None = None,
        threads: int | None = None,
    ) -> OnnxPredictor:
        """The classifier in a folder that `alloykit export` wrote.

        max_length: tokens per text; default: that of the folder. number_format: default: int8 if the folder has it, else float32.
        threads: default: torch's number. AlloyError for a folder without the graph, or without onnxruntime.
        """
        folder = Path(folder)
        wanted: list[OnnxFormat] = [number_format] if number_format else ["int8", "float32"]
        graph = next((folder / GRAPHS[each] for each in wanted if (folder / GRAPHS[each]).is_file()), None)
        if graph is None or not (folder / "config.json").is_file():
            extra = {"int8": " --int8", "float16": " --fp16"}.get(number_format or "", "")
            raise AlloyError(
                expected=f"an exported student with {' or '.join(GRAPHS[each] for each in wanted)}",
                got=f"'{str(folder)[:200]}'" + (" without it" if folder.exists() else ", which does not exist"),
                hint=f"Write it with `alloykit export RUN --onnx{extra}`.",
            )
        config = checked_config(folder, str(folder))
        tokenizer = load_tokenizer(ModelSpec(model=str(folder)))
        limits = [n for n in (max_length, tokenizer.model_max_length) if n is not None and n < UNLIMITED]
        names = config.get("id2label", {})
        temperature = config.get(IN_GRAPH, 1.0)
        if not is_temperature(temperature):
            raise AlloyError(
                expected=f"a positive number as `{IN_GRAPH}` in the config.json of '{folder}'",
                got=repr(temperature)[:100],
                hint="Export the student again with `alloykit export`.",
            )
        return cls(
            onnx_session(graph, threads), tokenizer, [names[key] for key in sorted(names, key=int)],
            int(min(limits, default=DEFAULT_LENGTH)), float(temperature), estimated_accuracy_of(config),
        )  # fmt: skip

    def probabilities(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        name: str = "student",
        *,
        calibrated: bool = True,
    ) -> Tensor:
        """softmax(logits / T), [n, C] float32, in the order of the texts, as `Predictor.probabilities`. AlloyError for values that are not texts."""
        factor = 1.0 if calibrated else self.temperature
        return self._read(texts, pairs, name, lambda logits: (logits * factor).softmax(-1))

    @property
    def knows_unusual(self) -> bool:
        """False: the graph gives no states, from which `none_of_these` is computed."""
        return False

    def predict(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        name: str = "student",
        *,
        none_of_these: bool = False,
    ) -> Prediction:
        """The probabilities, as `Predictor.predict`. AlloyError for `none_of_these`, which needs the student in PyTorch."""
        if none_of_these:
            raise AlloyError(
                expected="the student in PyTorch, to say how unusual a text is",
                got="the ONNX graph, which gives no states",
                hint="Leave out --onnx or --none-of-these.",
            )
        return Prediction(self.probabilities(texts, pairs, name))

    def logits(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None, name: str = "student") -> Tensor:
        """The student's logits before temperature and softmax, [n, C] float32. Arguments and AlloyError as in `probabilities`."""
        return self._read(texts, pairs, name, lambda logits: logits * self.temperature)

    def _read(
        self, texts: Sequence[str], pairs: Sequence[str | None] | None, name: str, finish: Callable[[Tensor], Tensor]
    ) -> Tensor:
        check_texts_and_pairs(texts, pairs)
        encodings = encode(self.tokenizer, texts, pairs, self.max_length)
        with bar(name, len(texts)) as advance:
            return forward_texts(
                lambda batch: finish(self.run(batch))[None], encodings, None, self.tokenizer, device=self.device,
                width=len(self.labels), budget=Budget(TOKENS_PER_BATCH), name=name, advance=advance,
            )[0]  # fmt: skip

    def run(self, batch: dict[str, Tensor]) -> Tensor:
        """The graph's output for a padded batch of int64 [B, L] tensors: logits divided by the temperature, [B, C] float32."""
        ids = batch["input_ids"]
        given = {key: (batch[key] if key in batch else torch.zeros_like(ids)).numpy() for key in self.inputs}
        return torch.from_numpy(self.session.run(["logits"], given)[0])
