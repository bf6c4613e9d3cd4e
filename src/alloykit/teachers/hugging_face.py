"""A teacher: any sequence-classification model of transformers, with its own tokenizer and label names."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.compute_format import ComputeFormat, in_compute_format
from alloykit.models.device import pick_device
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.loading import load_classifier, load_config
from alloykit.models.long_texts import LongTexts, encode_long, long_texts_of
from alloykit.models.tokens import pad, usable_length
from alloykit.names import rename


class TeacherSpec(ModelSpec):
    """One entry of the recipe's `teachers:`."""

    name: str | None = Field(None, max_length=100)
    """Its name in reports; the last part of `model` if not given."""
    labels: dict[str, str] | None = None
    """Real names for anonymous labels, {LABEL_0: bug}."""
    max_length: int | None = Field(None, gt=1)
    """Tokens per text, for this teacher; `training: {max_length}` if not given."""
    long_texts: LongTexts | None = None
    """What it reads of a longer text: head, tail, head_tail, or mean over chunks; `inference: {long_texts}` if not given."""


@dataclass(frozen=True)
class TeacherInfo:
    """What can be read of a teacher without loading its weights."""

    name: str
    spec: TeacherSpec
    labels: tuple[str, ...]
    revision: str | None
    config: Any

    def reads(self, max_length: int, long_texts: LongTexts | None) -> tuple[int, LongTexts]:
        """Tokens per text, and what it reads of a longer one: its own settings, else these, else those of its configuration."""
        return self.spec.max_length or max_length, self.spec.long_texts or long_texts or long_texts_of(self.config)


def unique_names(specs: Sequence[TeacherSpec]) -> list[str]:
    """One different name per teacher, safe as a folder name. AlloyError if the recipe gives the same name twice."""
    names: list[str] = []
    for spec in specs:
        base = re.sub(r"[^\w.-]+", "-", spec.name or Path(spec.model).name or spec.model).strip("-.") or "teacher"
        name, n = base, 1
        while name in names:
            if spec.name is not None:
                raise AlloyError(
                    expected="a different `name` for each teacher", got=f"'{base}' twice", hint="Rename one of them."
                )
            n += 1
            name = f"{base}-{n}"
        names.append(name)
    return names


def read_teacher_info(spec: TeacherSpec, name: str) -> TeacherInfo:
    """Read a teacher's configuration: label names, revision, type of head. AlloyError if the model cannot be a teacher."""
    config, revision = load_config(spec)
    problem = getattr(config, "problem_type", None)
    if problem in ("regression", "multi_label_classification"):
        raise AlloyError(
            expected=f"a single-label classifier as teacher '{name}'",
            got=f"a {problem.replace('_', ' ')} head",
            hint="alloykit joins classifiers whose labels exclude each other.",
        )
    if config.num_labels < 2:
        raise AlloyError(
            expected=f"a classifier of at least two labels as teacher '{name}'",
            got=f"{config.num_labels} label",
            hint="A one-class (or regression) head has no uncertainty over classes. Retrain it with an 'other' label.",
        )
    heads = config.architectures or []
    if heads and not any("SequenceClassification" in head for head in heads):
        raise AlloyError(
            expected=f"a sequence-classification model as teacher '{name}'",
            got=", ".join(heads),
            hint="Fine-tune it first, for instance with `alloykit teach`.",
        )
    labels = tuple(config.id2label[i] for i in range(config.num_labels))
    return TeacherInfo(name, spec, rename(labels, spec.labels or {}, name), revision, config)


class Teacher:
    """A frozen classifier in eval mode, with its tokenizer."""

    def __init__(
        self,
        info: TeacherInfo,
        model: Any,
        tokenizer: Any,
        max_length: int,
        compute_format: ComputeFormat | None = None,
        long_texts: LongTexts | None = None,
    ) -> None:
        self.info, self.tokenizer, self.compute_format = info, tokenizer, compute_format or ComputeFormat()
        wanted, self.long_texts = info.reads(max_length, long_texts)
        self.max_length = usable_length(model, tokenizer, wanted)
        self.device: torch.device = model.device
        self.fingerprint = {"weights": weights_fingerprint(model), "tokenizer": tokenizer_fingerprint(tokenizer)}
        if self.long_texts != "head":  # without the key in the other case, so that older stores stay valid
            self.fingerprint["long_texts"] = self.long_texts
        self.model = in_compute_format(model, self.compute_format)
        self.lean = nullcontext() if self.compute_format.compile else LeanLastLayer(self.model)

    @classmethod
    def load(
        cls,
        info: TeacherInfo,
        *,
        max_length: int = 128,
        dropout: float | None = None,
        device: str = "auto",
        compute_format: ComputeFormat | None = None,
        long_texts: LongTexts | None = None,
    ) -> Teacher:
        """Load the weights (safetensors only) and the tokenizer. `dropout` sets every dropout rate before the model is built."""
        model, tokenizer = load_classifier(info.spec.model_copy(update={"revision": info.revision}), dropout=dropout)
        model.requires_grad_(False)
        return cls(info, model.to(pick_device(device)), tokenizer, max_length, compute_format, long_texts)

    def encode(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> list[dict[str, list[int]]]:
        """Token ids of each text, or `Chunks` of the texts, not padded."""
        return encode_long(self.tokenizer, texts, pairs, self.max_length, self.long_texts)

    def batch(self, encodings: Sequence[dict[str, list[int]]]) -> dict[str, Tensor]:
        """A batch, padded to its longest text, on the model's device."""
        return {key: value.to(self.device, non_blocking=True) for key, value in pad(self.tokenizer, encodings).items()}


def weights_fingerprint(model: Any) -> str:
    """SHA-256 of names, shapes and values of all weights."""
    weights = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        weights.update(f"{key}{tuple(tensor.shape)}{tensor.dtype}".encode())
        weights.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return weights.hexdigest()


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """SHA-256 of what determines a tokenizer's output: the whole definition of a fast one, else vocabulary and class."""
    if tokenizer.is_fast:
        definition = json.loads(tokenizer.backend_tokenizer.to_str())
        for key in ("truncation", "padding"):  # set by the last call
            definition.pop(key, None)
    else:
        definition = {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab()}
    definition["special"] = {k: str(v) for k, v in tokenizer.special_tokens_map.items()}
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()
