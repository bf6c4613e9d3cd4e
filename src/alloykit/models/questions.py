"""A classifier that answers several questions: one head whose labels are those of all questions, one question after another.

    config.json     id2label             {"0": "topic: sports", "1": "topic: world", "2": "sentiment: good", …}
                    alloykit_questions   [{"question": "topic", "labels": ["sports", "world"], "temperature": 1.2}, …]

So the folder is a plain Hugging Face classifier. The answer to a question is the softmax over its part of the logits. In an ONNX export, whose graph
has divided each part by its temperature, an entry has `temperature_in_graph` in place of `temperature`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from alloykit.errors import AlloyError
from alloykit.files import write_atomic
from alloykit.models.export import is_temperature
from alloykit.models.head_input import logits_layers
from alloykit.models.heads import HEAD_KEY, is_pooled
from alloykit.models.problem_type import set_multi_label

KEY = "alloykit_questions"
IN_GRAPH = "temperature_in_graph"
"""Key of an entry of `KEY` in the config.json of an ONNX export."""


@dataclass(frozen=True)
class QuestionPart:
    """One question's part of the logits: from `first` on, one logit per label. temperature: that of its probabilities. multi_label: its labels do
    not exclude each other."""

    name: str
    labels: tuple[str, ...]
    first: int
    temperature: float = 1.0
    multi_label: bool = False

    def probabilities(self, logits: Tensor, *, calibrated: bool = True) -> Tensor:
        """The probabilities of this question's labels: logits over all labels [..., C] → [..., C_q]."""
        part = self.of(logits) / (self.temperature if calibrated else 1.0)
        return part.sigmoid() if self.multi_label else part.softmax(-1)

    def of(self, values: Tensor) -> Tensor:
        """This question's part of values over all labels: [..., C] → [..., C_q]."""
        return values[..., self.first : self.first + len(self.labels)]


def temperatures(parts: Sequence[QuestionPart]) -> Tensor:
    """The temperature of each logit, [C] float32."""
    return torch.cat([torch.full((len(part.labels),), part.temperature) for part in parts])


def joint_label(question: str, label: str) -> str:
    """The name of a question's label among the labels of all questions."""
    return f"{question}: {label}"


def question_parts(labels: Mapping[str, Sequence[str]], multi_label: Collection[str]) -> tuple[QuestionPart, ...]:
    """The parts of these questions, in their order. labels: by question. multi_label: the questions whose labels do not exclude each other."""
    parts, first = [], 0
    for name, own in labels.items():
        parts.append(QuestionPart(name, tuple(own), first, multi_label=name in multi_label))
        first += len(own)
    return tuple(parts)


def set_questions(config: Any, parts: Sequence[QuestionPart]) -> None:
    """Note the questions in a classifier's configuration."""
    entries = [
        {"question": p.name, "labels": list(p.labels), "temperature": p.temperature, "multi_label": p.multi_label}
        for p in parts
    ]
    setattr(config, KEY, entries)


def questions_of(config: Any) -> tuple[QuestionPart, ...]:
    """The questions of a classifier, by its configuration; none of an ordinary one. AlloyError for a damaged entry."""
    return _parts(
        getattr(config, KEY, None), lambda: [config.id2label[i] for i in range(config.num_labels)], "temperature"
    )


def questions_of_export(config: Mapping[str, Any], labels: Sequence[str]) -> tuple[QuestionPart, ...]:
    """The same of an ONNX export. config: the content of its config.json. labels: those of its logits, in their order."""
    return _parts(config.get(KEY), lambda: list(labels), IN_GRAPH)


def entries_of_export(parts: Sequence[QuestionPart]) -> list[dict[str, Any]]:
    """The value of `KEY` for an ONNX export."""
    return [
        {"question": p.name, "labels": list(p.labels), IN_GRAPH: p.temperature, "multi_label": p.multi_label}
        for p in parts
    ]


def _parts(given: Any, names: Callable[[], list[str]], key: str) -> tuple[QuestionPart, ...]:
    if given is None:
        return ()
    try:
        parts, first = list[QuestionPart](), 0
        for entry in given:
            name, labels, temperature = entry["question"], entry["labels"], entry.get(key, 1.0)
            several = entry.get("multi_label", False)
            if (
                not isinstance(name, str)
                or not isinstance(several, bool)
                or not is_temperature(temperature)
                or not isinstance(labels, list)
            ):
                raise ValueError(f"the entry {len(parts)}")
            parts.append(QuestionPart(name, tuple(map(str, labels)), first, float(temperature), several))
            first += len(labels)
        joint = [joint_label(part.name, label) for part in parts for label in part.labels]
        if not parts or joint != names():
            raise ValueError("other labels than id2label")
        if len({part.name for part in parts}) < len(parts) or not all(part.labels for part in parts):
            raise ValueError("a question twice, or without labels")
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise AlloyError(
            expected=f"`{KEY}` in config.json as alloykit wrote it",
            got=f"'{error}'",
            hint="Copy the whole folder again.",
        ) from error
    return tuple(parts)


def save_question_temperatures(folder: Path, temperatures: Mapping[str, float | None]) -> None:
    """Write the temperatures into a classifier's config.json in one atomic step. None leaves a temperature as it is."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for entry in config[KEY]:
        if (found := temperatures.get(entry["question"])) is not None:
            entry["temperature"] = found
    text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if path.read_text(encoding="utf-8") != text:
        write_atomic(path, text)


def probabilities_by_question(logits: Tensor, parts: Sequence[QuestionPart], *, calibrated: bool) -> Tensor:
    """The probabilities of each question, side by side: [n, C] → [n, C]. Those of a question sum to one, unless it is multi-label."""
    return torch.cat([part.probabilities(logits, calibrated=calibrated) for part in parts], -1)


def classifier_of_question(model: Any, part: QuestionPart) -> Any:
    """A copy of the classifier that answers one question only: the same encoder, and this question's part of the head. AlloyError for
    a model whose head is not a linear layer."""
    single = copy.deepcopy(model)
    layers = logits_layers(single)
    if not layers:
        raise AlloyError(
            expected="a student whose classification head is a linear layer, for several questions",
            got=f"'{type(model).__name__}'",
            hint="Take another encoder as the student.",
        )
    name, head = list(layers.items())[-1]
    cut = nn.Linear(head.in_features, len(part.labels), bias=head.bias is not None)
    with torch.no_grad():
        cut.weight.copy_(head.weight[part.first : part.first + len(part.labels)])
        if head.bias is not None:
            cut.bias.copy_(head.bias[part.first : part.first + len(part.labels)])
    parent, _, last = name.rpartition(".")
    setattr(single.get_submodule(parent) if parent else single, last, cut)
    config = single.config
    set_multi_label(config, part.multi_label)
    config.num_labels = len(part.labels)
    config.id2label = dict(enumerate(part.labels))
    config.label2id = {label: i for i, label in enumerate(part.labels)}
    single.num_labels = len(part.labels)
    if is_pooled(config):
        setattr(config, HEAD_KEY, getattr(config, HEAD_KEY) | {"labels": len(part.labels)})
    if hasattr(config, KEY):
        delattr(config, KEY)
    return single
