"""The classifier of an exported ONNX folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.checked_config import checked_config
from alloykit.models.export import IN_GRAPH, ONE_LENGTH, estimated_accuracy_of, is_temperature
from alloykit.models.loading import load_tokenizer
from alloykit.models.long_texts import LONG_TEXTS, LongTexts
from alloykit.models.onnx_file import onnx_files
from alloykit.models.onnx_session import onnx_session
from alloykit.models.problem_type import MULTI_LABEL
from alloykit.models.questions import QuestionPart, questions_of_export, temperatures
from alloykit.models.tokens import DEFAULT_LENGTH, UNLIMITED
from alloykit.names import clean_names
from alloykit.serving.text_classifier import TextClassifier

OnnxFormat = Literal["float32", "int8", "float16"]
GRAPHS: dict[OnnxFormat, str] = {
    "float32": "onnx/model.onnx",
    "int8": "onnx/model_quantized.onnx",
    "float16": "onnx/model_fp16.onnx",
}
"""The graphs in an exported folder, under the names that transformers.js looks for."""
TOKENS_PER_BATCH = 2048
LOGITS, STATES = "logits", "states"
"""The outputs of a graph. A student of several questions has one further output for each, `logits.NAME`. STATES is what the classification
head reads, [batch, d]; exports of students without none_of_these.safetensors lack it."""


def output_of(question: str) -> str:
    """The name of the output with one question's part of the logits."""
    return f"{LOGITS}.{question}"


class OnnxPredictor(TextClassifier):
    """A loaded ONNX classifier. It computes on the CPU."""

    tokens_per_batch = TOKENS_PER_BATCH
    device = torch.device("cpu")

    def __init__(
        self,
        session: Any,
        tokenizer: Any,
        labels: Sequence[str],
        max_length: int,
        temperature: float,
        long_texts: LongTexts,
        folder: Path | None,
        estimated_accuracy: Mapping[str, float | None] | None = None,
        *,
        questions: tuple[QuestionPart, ...],
        multi_label: bool,
        one_length: bool,
    ) -> None:
        """session: an onnxruntime session. The `logits` of its graph are already divided by `temperature`, or by that of each question.
        folder: the one with none_of_these.safetensors."""
        self.session, self.tokenizer, self.max_length = session, tokenizer, max_length
        self.labels, self.temperature, self.long_texts, self.folder = tuple(labels), temperature, long_texts, folder
        self.estimated_accuracy = dict(estimated_accuracy or {})
        self.questions, self.multi_label, self.one_length = questions, multi_label, one_length
        self.inputs = [each.name for each in session.get_inputs()]
        self._widths = {each.name: each.shape[-1] for each in session.get_outputs()}

    @classmethod
    def load(
        cls,
        folder: str | Path,
        max_length: int | None = None,
        *,
        number_format: OnnxFormat | None = None,
        threads: int | None = None,
        trust_remote_code: bool = False,
    ) -> OnnxPredictor:
        """The classifier in a folder that `alloykit export` wrote.

        max_length: tokens per text; default: that of the folder. number_format: default: int8 if the folder has it, else float32.
        threads: default: torch's number. trust_remote_code: run code that comes with the tokenizer. AlloyError for a folder without the graph, for a graph that onnx_file.py refuses, or
        without onnx or onnxruntime.
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
        onnx_files(graph, folder)  # somebody else may have made it
        config = checked_config(folder, str(folder), any_type=trust_remote_code)
        tokenizer = load_tokenizer(ModelSpec(model=str(folder), trust_remote_code=trust_remote_code))
        limits = [n for n in (max_length, tokenizer.model_max_length) if n is not None and n < UNLIMITED]
        names = config.get("id2label", {})
        temperature = config.get(IN_GRAPH, 1.0)
        if not is_temperature(temperature):
            raise AlloyError(
                expected=f"a positive number as `{IN_GRAPH}` in the config.json of '{folder}'",
                got=repr(temperature)[:100],
                hint="Export the student again with `alloykit export`.",
            )
        labels = [names[key] for key in sorted(names, key=int)]
        session = onnx_session(graph, threads)
        _check_labels(labels, session, folder)
        return cls(
            session, tokenizer, labels, int(min(limits, default=DEFAULT_LENGTH)),
            float(temperature), config.get(LONG_TEXTS, "head"), folder, estimated_accuracy_of(config),
            questions=questions_of_export(config, labels), multi_label=config.get("problem_type") == MULTI_LABEL, one_length=config.get(ONE_LENGTH) is True,
        )  # fmt: skip

    @property
    def states_width(self) -> int | None:
        return self._widths.get(STATES)

    def forward(self, batch: dict[str, Tensor], states: bool) -> tuple[Tensor, Tensor | None]:
        ids = batch["input_ids"]
        given = {key: (batch[key] if key in batch else torch.zeros_like(ids)).numpy() for key in self.inputs}
        logits, *rest = map(torch.from_numpy, self.session.run([LOGITS, STATES] if states else [LOGITS], given))
        return logits * temperatures(self.parts), rest[0] if states else None


def _check_labels(labels: Sequence[str], session: Any, folder: Path) -> None:
    """AlloyError unless these are the names of the graph's logits: different ones, and one for each."""
    clean_names(labels, f"the exported student in '{folder}'")  # answers are found by name
    shapes = {each.name: each.shape for each in session.get_outputs()}
    width = shapes[LOGITS][-1] if shapes.get(LOGITS) else "no"
    if width == "no" or (isinstance(width, int) and width != len(labels)):  # a width that is not fixed has a name
        raise AlloyError(
            expected=f"a label in the config.json of '{folder}' for each output of its graph",
            got=f"{len(labels)} labels and {width} `{LOGITS}`",
            hint="Both files are of one export: write them again with `alloykit export`.",
        )
