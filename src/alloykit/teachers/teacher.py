"""A teacher: any sequence-classification model that transformers loads, with its own tokenizer and label names."""

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
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.source import resolve
from alloykit.models.tokens import encode, pad, usable_length
from alloykit.names import rename
from alloykit.options import ModelSpec
from alloykit.progress import library_bars_off
from alloykit.teachers.dropout import set_dropout_rate
from alloykit.teachers.last_layer import LeanLastLayer
from alloykit.teachers.numbers import Numbers, in_numbers


class TeacherSpec(ModelSpec):
    """One entry of the recipe's `teachers:`."""

    name: str | None = None
    """How reports call it; the last part of `model` if not given."""
    labels: dict[str, str] | None = None
    """Real names for anonymous labels, {LABEL_0: bug}."""


@dataclass(frozen=True)
class TeacherInfo:
    """What is known of a teacher without loading its weights."""

    name: str
    spec: TeacherSpec
    labels: tuple[str, ...]
    revision: str | None
    config: Any


def unique_names(specs: Sequence[TeacherSpec]) -> list[str]:
    """One name per teacher, safe as a folder name. AlloyError where the recipe gives the same name twice."""
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


def describe(spec: TeacherSpec, name: str) -> TeacherInfo:
    """Read a teacher's configuration: label names, revision, kind of head. AlloyError if it cannot be a teacher."""
    from transformers import AutoConfig

    folder = resolve(spec.model)
    config = load_or_explain(
        lambda: AutoConfig.from_pretrained(folder, revision=spec.revision, trust_remote_code=spec.trust_remote_code),
        spec.model,
    )
    check_weights(folder, spec.model)
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
    labels = tuple(str(config.id2label[i]) for i in range(config.num_labels))
    revision = getattr(config, "_commit_hash", None) or spec.revision
    return TeacherInfo(name, spec, rename(labels, spec.labels or {}, name), revision, config)


class Teacher:
    """A frozen classifier in eval mode, which takes texts and gives logits."""

    def __init__(
        self, info: TeacherInfo, model: Any, tokenizer: Any, max_length: int, numbers: Numbers | None = None
    ) -> None:
        self.info, self.tokenizer, self.numbers = info, tokenizer, numbers or Numbers()
        self.max_length = usable_length(model, tokenizer, max_length)
        self.device: torch.device = model.device
        self.fingerprint = {"weights": weights_fingerprint(model), "tokenizer": tokenizer_fingerprint(tokenizer)}
        self.model = in_numbers(model, self.numbers)
        self.lean = nullcontext() if self.numbers.compile else LeanLastLayer(self.model)

    @classmethod
    def load(
        cls,
        info: TeacherInfo,
        *,
        max_length: int = 128,
        dropout: float | None = None,
        device: str = "cpu",
        numbers: Numbers | None = None,
    ) -> Teacher:
        """Load weights (safetensors only) and tokenizer. `dropout` sets every dropout rate before construction."""
        from transformers import AutoConfig

        spec, folder = info.spec, resolve(info.spec.model)
        common = {"revision": info.revision, "trust_remote_code": spec.trust_remote_code}
        # A fresh configuration: the one in `info` must not carry this run's dropout rate.
        config = load_or_explain(lambda: AutoConfig.from_pretrained(folder, **common), spec.model)
        if dropout is not None:
            set_dropout_rate(config, dropout)
        model = load_classifier(folder, config, spec.model, common)
        tokenizer = load_tokenizer(folder, spec.model, common)
        model.eval().requires_grad_(False)
        return cls(info, model.to(device), tokenizer, max_length, numbers)

    def encode(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> list[dict[str, list[int]]]:
        """Token ids of each text, truncated, not padded."""
        return encode(self.tokenizer, texts, pairs, self.max_length)

    def batch(self, encodings: Sequence[dict[str, list[int]]]) -> dict[str, Tensor]:
        """Pad to the longest and move to the model's device."""
        return {key: value.to(self.device, non_blocking=True) for key, value in pad(self.tokenizer, encodings).items()}


def load_classifier(folder: str, config: Any, name: str, common: dict[str, Any]) -> Any:
    """A whole classifier in float32, from safetensors only, whatever its head. AlloyError if any of its weights is missing."""
    from transformers import AutoModelForSequenceClassification

    from alloykit.models.heads import is_pooled, load_pooled

    if is_pooled(config):
        return load_or_explain(lambda: load_pooled(folder, config), name)
    model, report = load_or_explain(
        lambda: AutoModelForSequenceClassification.from_pretrained(
            folder, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True,
            ignore_mismatched_sizes=True, **common,
        ),
        name,
    )  # fmt: skip
    if missing := sorted({*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])}):
        raise AlloyError(
            expected=f"weights for the whole of '{name}', its classification head included",
            got=f"none that fit for {', '.join(missing[:3])}",
            hint="Its answers would be random. Fine-tune it first, for instance with `alloykit teach`.",
        )
    return model


def weights_fingerprint(model: Any) -> str:
    """SHA-256 of names, shapes and values of all weights."""
    weights = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        weights.update(f"{key}{tuple(tensor.shape)}{tensor.dtype}".encode())
        weights.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return weights.hexdigest()


def check_weights(folder: str, model: str) -> None:
    """AlloyError, before any work, if a local model folder holds no whole safetensors file."""
    import safetensors

    if not Path(folder).is_dir():
        return  # a hub id: transformers says what is wrong when it is loaded
    files = sorted(Path(folder).glob("*.safetensors"))
    if not files:
        raise AlloyError(
            expected=f"weights in safetensors in '{model}'",
            got="none",
            hint="Other formats are pickled and could run code. Load the model elsewhere and save it with save_pretrained.",
        )
    for file in files:
        try:
            with safetensors.safe_open(file, framework="pt"):
                pass
        except safetensors.SafetensorError as error:
            raise AlloyError(
                expected=f"a whole file {file.name} in '{model}'", got=f"'{error}'", hint="Copy or download it again."
            ) from error


def load_tokenizer(folder: str, model: str, common: dict[str, Any]) -> Any:
    """A model's own tokenizer. AlloyError where there is none: transformers would make one up that knows no words."""
    from transformers import AutoTokenizer

    tokenizer = load_or_explain(lambda: AutoTokenizer.from_pretrained(folder, **common), model)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise AlloyError(
            expected=f"a tokenizer beside the model '{model}'",
            got="none with any word in it",
            hint="Save it there: `tokenizer.save_pretrained(folder)`.",
        )
    return tokenizer


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """SHA-256 of what a tokenizer does to text: its whole definition where it is a fast one, else vocabulary and class."""
    if tokenizer.is_fast:
        definition = json.loads(tokenizer.backend_tokenizer.to_str())
        for key in ("truncation", "padding"):  # set by whoever used it last
            definition.pop(key, None)
    else:
        definition = {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab()}
    definition["special"] = {k: str(v) for k, v in tokenizer.special_tokens_map.items()}
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def load_or_explain(load: Any, model: str) -> Any:
    """Run a `from_pretrained`; turn what goes wrong into a message that a user can act upon."""
    try:
        with library_bars_off():
            return load()
    except (OSError, ValueError, KeyError) as error:
        text = str(error)
        first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
        if "trust_remote_code" in text:
            expected, hint = (
                "a model that needs no code of its own",
                "Set `trust_remote_code: true` beside it if you have read and trust its code.",
            )
        elif "safetensors" in text:
            expected, hint = (
                "weights in safetensors",
                "Pickled weights can run code. Convert them: load the model elsewhere and call save_pretrained.",
            )
        elif Path(model).exists():
            expected, hint = (
                "a model folder (config.json, model.safetensors, tokenizer files)",
                "Check that the folder is complete; `save_pretrained` of both model and tokenizer makes one.",
            )
        else:
            expected, hint = (
                "a model folder, or the id of a reachable hub model",
                "No such folder exists. If it is a hub id, check its spelling, your network and HF_TOKEN.",
            )
        raise AlloyError(expected=expected, got=f"'{model}' ({first.strip()[:200]})", hint=hint) from error
