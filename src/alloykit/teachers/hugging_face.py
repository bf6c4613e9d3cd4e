"""A teacher: any sequence-classification model of transformers, with its own tokenizer and label names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.methods.inputs import Gives
from alloykit.models.compute_format import in_compute_format
from alloykit.models.device import pick_device
from alloykit.models.dropout import dropout_rates
from alloykit.models.forward import Advance, Budget
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.loading import load_classifier, load_config, load_tokenizer
from alloykit.models.location import model_identity
from alloykit.models.long_texts import LongTexts, encode_long, long_texts_of
from alloykit.models.padding import padding_changes_answers
from alloykit.models.problem_type import is_multi_label
from alloykit.models.token_states import ONE_PASS_ONLY, states_shape
from alloykit.models.tokens import most_tokens, pad, usable_length
from alloykit.models.trial import TRIAL_TEXTS
from alloykit.progress import log_line
from alloykit.teachers.config_labels import labels_of_config
from alloykit.teachers.forward import plain_and_pooled, sampled_passes
from alloykit.teachers.mc_dropout import Sampler, choose_sampler
from alloykit.teachers.model_fingerprints import model_fingerprints
from alloykit.teachers.protocol import Answerer, Outputs, Reading, TeacherInfo, TeacherSpec


class HuggingFaceSpec(ModelSpec, TeacherSpec):
    """A classifier of transformers; a plain string stands for `{model: …}`."""

    key: ClassVar[str] = "model"

    labels: dict[str, str] | None = None
    """Real names for anonymous labels, {LABEL_0: bug}."""
    max_length: int | None = Field(None, gt=1)
    """Tokens per text, for this teacher; `training: {max_length}` if not given."""
    long_texts: LongTexts | None = None
    """What it reads of a longer text: head, tail, head_tail, or mean over chunks; `inference: {long_texts}` if not given."""

    @property
    def model_name(self) -> str | None:
        return self.model

    def describe(self, name: str) -> HuggingFaceInfo:
        return read_teacher_info(self, name)


@dataclass(frozen=True)
class HuggingFaceInfo(TeacherInfo):
    """What is known of a classifier before it is loaded. `commit`: of a hub model. `config`: the model's configuration."""

    commit: str | None
    config: Any

    def reads(self, max_length: int, long_texts: LongTexts | None) -> tuple[int, LongTexts]:
        """Its own settings, else these, else those of its configuration."""
        own = self.spec if isinstance(self.spec, HuggingFaceSpec) else None  # a model in memory has no settings
        length, kept = (own.max_length, own.long_texts) if own else (None, None)
        return length or max_length, kept or long_texts or long_texts_of(self.config)

    @property
    def gives(self) -> Gives:
        config = self.config
        return Gives(
            logits=True,
            passes=config.model_type not in ONE_PASS_ONLY,
            states=states_shape(config),
            model=True,
            dropout=max(dropout_rates(config), default=0.0),
            multi_label=is_multi_label(config),
        )

    @property
    def revision(self) -> str | None:
        return self.commit

    @property
    def pinned(self) -> TeacherSpec:
        return self.spec.model_copy(update={"revision": self.commit, "name": self.name})

    @property
    def model_spec(self) -> ModelSpec:
        """The model to load."""
        assert isinstance(self.spec, HuggingFaceSpec)
        return self.spec.model_copy(update={"revision": self.commit})

    @property
    def most_tokens(self) -> int | None:
        return most_tokens(self.config, self.load_tokenizer())

    def identity(self) -> str:
        return model_identity(self.model_spec.model, self.commit)

    def load_tokenizer(self) -> Any:
        return load_tokenizer(self.model_spec)

    def load(self, reading: Reading) -> HuggingFaceTeacher:
        return HuggingFaceTeacher(self, reading)


def read_teacher_info(spec: HuggingFaceSpec, name: str) -> HuggingFaceInfo:
    """Read a teacher's configuration: label names, revision, type of head. AlloyError if the model cannot be a teacher."""
    config, revision = load_config(spec)
    return HuggingFaceInfo(name, spec, labels_of_config(config, spec.labels or {}, name), revision, config)


class HuggingFaceTeacher(Answerer):
    """A frozen classifier in eval mode, with its tokenizer."""

    info: HuggingFaceInfo

    def __init__(self, info: HuggingFaceInfo, reading: Reading) -> None:
        """Load the weights (safetensors only) and the tokenizer. AlloyError."""
        model, self.tokenizer = load_classifier(info.model_spec, dropout=reading.dropout)
        model = model.requires_grad_(False).to(pick_device(reading.device))
        self.info, self.device = info, model.device
        self.compute_format = reading.compute_format.of(info.config)
        wanted, self.long_texts = info.reads(reading.max_length, reading.long_texts)
        self.max_length = usable_length(model, self.tokenizer, wanted)
        self.fingerprint = model_fingerprints(model, info.config, self.tokenizer)
        if self.long_texts != "head":  # without the key in the other case, so that older stores stay valid
            self.fingerprint["long_texts"] = self.long_texts
        self.one_length = padding_changes_answers(model, self.tokenizer)
        if self.one_length:
            log_line(f"teacher {info.name}: padding changes its answers, so it reads texts of the same length together")
        self.model = in_compute_format(model, self.compute_format)
        self.lean: AbstractContextManager[Any] = (
            nullcontext() if self.compute_format.compile else LeanLastLayer(self.model)
        )
        self.budget, self._sampler = Budget(reading.tokens_per_batch), reading.sampler

    @property
    def made_of(self) -> dict[str, Any]:
        shape = self.info.gives.states
        about = {
            "max_length": self.max_length,
            "compute_format": self.compute_format.name,
            "classes": len(self.info.labels),
        }
        return self.fingerprint | about | ({"width": shape.hidden_size} if shape else {})

    @cached_property
    def pass_sampler(self) -> Sampler:
        """How Monte-Carlo passes are sampled: the fast way where it covers all dropout."""
        if self._sampler is not None:
            return self._sampler
        trial = self.batch(self.encode(TRIAL_TEXTS))
        return choose_sampler(self.model, trial, self.info.name, compiled=self.compute_format.compile)

    @property
    def sampler(self) -> str:
        return self.pass_sampler.name

    @property
    def described(self) -> str:
        parameters = sum(p.numel() for p in self.model.parameters())
        of_long_texts = "" if self.long_texts == "head" else f" (long texts: {self.long_texts})"
        return f"{parameters / 1e6:,.1f} M parameters, reads {self.max_length} tokens{of_long_texts}, weights {self.fingerprint['weights'][:12]}"

    @property
    def about(self) -> dict[str, Any]:
        return {"tokens_per_batch": self.budget.tokens}

    def prepare(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> list[dict[str, list[int]]]:
        return self.encode(texts, pairs)

    def answer(self, prepared: Sequence[Any], advance: Advance, layers: Sequence[int] = ()) -> Outputs:
        return Outputs(*plain_and_pooled(self, prepared, layers, self.budget, advance))

    def sample(self, prepared: Sequence[Any], passes: int, seed: int, advance: Advance) -> Tensor:
        return sampled_passes(self, prepared, self.budget, self.pass_sampler, passes, seed, advance)

    def encode(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> list[dict[str, list[int]]]:
        """Token ids of each text, or `Chunks` of the texts, not padded."""
        return encode_long(self.tokenizer, texts, pairs, self.max_length, self.long_texts)

    def batch(self, encodings: Sequence[dict[str, list[int]]]) -> dict[str, Tensor]:
        """A batch, padded to its longest text, on the model's device."""
        return {key: value.to(self.device, non_blocking=True) for key, value in pad(self.tokenizer, encodings).items()}
