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
from alloykit.precision import Precision
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
        at = torch.as_tensor(list(indices) if isinstance(indices, range) else indices)
        return replace(self.source.rows(indices), text_states=self.states[at])


def text_states(
    encoder: ModelSpec,
    texts: Texts,
    path: Path,
    *,
    pooling: Pooling = "cls",
    max_length: int,
    tokens_per_batch: int,
    device: str,
    precision: Precision = "float32",
) -> CachedRows:
    """[n, d] float16 in the file `path`, which is used again if it was computed before for the same texts. AlloyError for a model that cannot be loaded.

    pooling: the state at [CLS] (RL-KD's R(x)), or the mean over a text's tokens. precision: what the encoder computes in."""
    made_of = {
        "encoder": model_identity(encoder.model, encoder.revision),
        "pooling": pooling,
        "texts": texts.fingerprint(),
        "max_length": max_length,
        "tokens_per_batch": tokens_per_batch,
        "precision": precision,
    }

    def compute() -> Iterator[Tensor]:
        loaded = TextEncoder(
            encoder,
            pooling=pooling,
            max_length=max_length,
            tokens_per_batch=tokens_per_batch,
            device=device,
            precision=precision,
        )
        yield from loaded.states(texts)

    width = encoder_shape(load_config(encoder)[0], encoder.model).hidden_size
    return cached_rows(path, made_of, (len(texts), width), compute)


class TextEncoder:
    """A loaded encoder that gives one state of each text. AlloyError for a model that cannot be loaded."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        pooling: Pooling,
        max_length: int,
        tokens_per_batch: int,
        device: str,
        precision: Precision = "float32",
    ) -> None:
        self.name, self.pooling, self.tokens_per_batch = spec.model, pooling, tokens_per_batch
        encoder, self.tokenizer = load_encoder(spec)
        self.one_length = padding_changes_answers(encoder, self.tokenizer)
        self.encoder = in_compute_format(encoder, ComputeFormat(precision).of(encoder.config)).to(device)
        self.length = usable_length(self.encoder, self.tokenizer, max_length)

    def states(self, texts: Texts) -> Iterator[Tensor]:
        """[·, d] float16, some texts after another, in their order."""
        encoder, pooling = self.encoder, self.pooling
        budget = Budget(self.tokens_per_batch)
        with bar(f"states of the texts by {self.name}", len(texts)) as advance:
            for shown in texts.table.batches(texts.text_columns):
                encodings = encode(self.tokenizer, shown["text"], shown.get("text_pair"), self.length)
                states = forward_texts(
                    lambda batch: _pooled(encoder(**batch).last_hidden_state, batch["attention_mask"], pooling)[None],
                    encodings, encoder, self.tokenizer, device=encoder.device, width=encoder.config.hidden_size,
                    budget=budget, name=f"'{self.name}'", one_length=self.one_length, advance=advance,
                )  # fmt: skip
                yield states[0].to(torch.float16)


def _pooled(states: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """[B, L, d], [B, L] → [B, d]"""
    if pooling == "cls":
        return states[:, 0]
    return masked_mean(states.float(), mask)
