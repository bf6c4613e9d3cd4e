"""What a frozen encoder, which is no teacher, makes of each text: its last state at [CLS] (RL-KD's R(x))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.knowledge.artifacts import cached_tensors
from alloykit.models.batches import token_batches
from alloykit.models.source import identity, resolve
from alloykit.models.tokens import encode, pad, usable_length
from alloykit.progress import bar
from alloykit.rows import Rows, Source
from alloykit.teachers.teacher import load_or_explain, load_tokenizer


@dataclass(frozen=True)
class WithTextStates:
    """A source whose rows have text states too. `states`: [n, d] float16, in the order of the source."""

    source: Source
    states: Tensor

    def __len__(self) -> int:
        return len(self.source)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        at = torch.as_tensor(list(indices) if isinstance(indices, range) else indices)
        return replace(self.source.rows(indices), text_states=self.states[at])


def text_states(model: str, texts: Texts, path: Path, *, max_length: int, tokens_per_batch: int, device: str) -> Tensor:
    """[n, d] float16, from `path` if they were computed before for the same texts. AlloyError for a model that is none."""
    made_of = {
        "encoder": identity(model, None),
        "texts": texts.fingerprint(),
        "max_length": max_length,
        "tokens_per_batch": tokens_per_batch,
    }

    def compute() -> dict[str, Tensor]:
        return {"states": _compute(model, texts, max_length, tokens_per_batch, device)}

    return cached_tensors(path, made_of, compute)["states"]


@torch.inference_mode()
def _compute(model: str, texts: Texts, max_length: int, tokens_per_batch: int, device: str) -> Tensor:
    from transformers import AutoModel

    folder = resolve(model)
    encoder: Any = load_or_explain(
        lambda: AutoModel.from_pretrained(folder, dtype=torch.float32, use_safetensors=True), model
    )
    encoder.eval().to(device)
    tokenizer = load_tokenizer(folder, model, {})
    length = usable_length(encoder, tokenizer, max_length)
    out = torch.empty(len(texts), encoder.config.hidden_size, dtype=torch.float16)
    done, columns = 0, ["text", "text_pair"] if texts.is_pair else ["text"]
    with bar("texts of the policy's encoder", len(texts)) as advance:
        for shown in texts.table.batches(columns):
            encodings = encode(tokenizer, shown["text"], shown.get("text_pair"), length)
            for rows in token_batches([len(e["input_ids"]) for e in encodings], tokens_per_batch):
                batch = {k: v.to(device) for k, v in pad(tokenizer, [encodings[i] for i in rows]).items()}
                first = encoder(**batch).last_hidden_state[:, 0]
                out[[done + i for i in rows]] = first.to("cpu", torch.float16)
            done += len(encodings)
            advance(len(encodings))
    return out.clone()
