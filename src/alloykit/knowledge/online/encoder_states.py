"""One state of the last layer of each text, from a frozen encoder that is not a teacher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.data import Texts
from alloykit.knowledge.store.cached_rows import CachedRows, cached_rows
from alloykit.losses.hidden import masked_mean
from alloykit.models.compute_format import ComputeFormat, in_compute_format
from alloykit.models.forward import Budget, forward_texts
from alloykit.models.loading import load_config, load_encoder
from alloykit.models.location import model_identity
from alloykit.models.padding import padding_changes_answers
from alloykit.models.token_states import encoder_shape
from alloykit.models.tokens import encode, usable_length
from alloykit.outputs import Rows, Source
from alloykit.precision import Precision, stored_states
from alloykit.progress import bar

Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class WithTextStates:
    """A source whose rows also have text states. `states`: [n, d] float16, in the order of the source."""

    source: Source
    states: Tensor | CachedRows

    def __len__(self) -> int:
        return len(self.source)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        at = torch.as_tensor(indices)
        return replace(self.source.rows(indices), text_states=self.states[at])


@dataclass(frozen=True)
class EncoderReading:
    """How a frozen encoder reads texts. `pooling`: the state at [CLS] (RL-KD's R(x)), or the mean over a text's tokens. `precision`: what it computes in."""

    encoder: ModelSpec
    pooling: Pooling
    max_length: int
    tokens_per_batch: int
    device: str
    precision: Precision = "float32"


def text_states(reading: EncoderReading, texts: Texts, path: Path) -> CachedRows:
    """[n, d] float16 in the file `path`, which is used again if it was computed before for the same texts. AlloyError for a model that cannot be loaded."""
    encoder = reading.encoder
    made_of = {
        "encoder": model_identity(encoder.model, encoder.revision),
        "pooling": reading.pooling,
        "texts": texts.fingerprint(),
        "max_length": reading.max_length,
        "tokens_per_batch": reading.tokens_per_batch,
        "precision": reading.precision,
    }
    width = encoder_shape(load_config(encoder)[0], encoder.model).hidden_size
    return cached_rows(path, made_of, (len(texts), width), lambda: TextEncoder(reading).states(texts))


class TextEncoder:
    """A loaded encoder that gives one state of each text. AlloyError for a model that cannot be loaded."""

    def __init__(self, reading: EncoderReading) -> None:
        self.reading = reading
        encoder, self.tokenizer = load_encoder(reading.encoder)
        self.one_length = padding_changes_answers(encoder, self.tokenizer)
        self.encoder = in_compute_format(encoder, ComputeFormat(reading.precision).of(encoder.config)).to(
            reading.device
        )
        self.length = usable_length(self.encoder, self.tokenizer, reading.max_length)

    def states(self, texts: Texts) -> Iterator[Tensor]:
        """[·, d] float16, some texts after another, in their order."""
        encoder, pooling, name = self.encoder, self.reading.pooling, self.reading.encoder.model
        budget = Budget(self.reading.tokens_per_batch)
        with bar(f"states of the texts by {name}", len(texts)) as advance:
            for shown in texts.table.batches(texts.text_columns):
                encodings = encode(self.tokenizer, shown["text"], shown.get("text_pair"), self.length)
                states = forward_texts(
                    lambda batch: _pooled(encoder(**batch).last_hidden_state, batch["attention_mask"], pooling)[None],
                    encodings, encoder, self.tokenizer, device=encoder.device, width=encoder.config.hidden_size,
                    budget=budget, name=f"'{name}'", one_length=self.one_length, advance=advance,
                )  # fmt: skip
                yield stored_states(states[0])


def _pooled(states: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """[B, L, d], [B, L] → [B, d]"""
    if pooling == "cls":
        return states[:, 0]
    return masked_mean(states.float(), mask)
