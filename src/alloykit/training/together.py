"""Several encoders under one shared head, fine-tuned at once: MT-BERT's co-finetuning (Wu et al. 2021, §2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput

from alloykit.data import Texts
from alloykit.methods.distillation import true_labels
from alloykit.methods.protocol import Context, LossInputs, Method, Needs
from alloykit.models.heads import PooledClassifier, PooledHead
from alloykit.models.tokens import encode, pad
from alloykit.outputs import Rows, Source
from alloykit.training.dataset import Collator

Batch = Mapping[str, Tensor]


class Together(nn.Module):
    """Encoders with a tokenizer each and one head. forward → logits [B, N, C], from one batch of token ids per encoder."""

    def __init__(self, encoders: Sequence[Any], head: PooledHead) -> None:
        super().__init__()
        single = [PooledClassifier(encoder, head) for encoder in encoders]
        self.encoders, self.maps = nn.ModuleList(s.encoder for s in single), nn.ModuleList(s.to_shared for s in single)
        self.head, self.config = head, encoders[0].config

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, others: Sequence[Batch], **rest: Any
    ) -> SequenceClassifierOutput:
        types = {key: rest[key] for key in ("token_type_ids",) if key in rest}
        batches: list[Any] = [{"input_ids": input_ids, "attention_mask": attention_mask, **types}, *others]
        logits = []
        for encoder, widen, batch in zip(self.encoders, self.maps, batches, strict=True):
            logits.append(self.head(widen(encoder(**batch).last_hidden_state), batch["attention_mask"]))
        return SequenceClassifierOutput(logits=torch.stack(logits, 1))

    def split(self) -> list[PooledClassifier]:
        """Each encoder as a classifier of its own; all have the same head."""
        found = []
        for encoder, widen in zip(self.encoders, self.maps, strict=True):
            one = PooledClassifier(encoder, self.head)
            one.to_shared = widen
            found.append(one)
        return found


class CoFinetuning(Method):
    """Σ_i CE(y, y_i). It makes teachers, so it is not among the methods that make students."""

    name = "together"
    title = "Co-finetuning"
    reference = "Wu et al. 2021, §2.1"
    single_target = False

    @property
    def needs(self) -> Needs:
        return Needs(teachers=0, labels=True)

    def supervise(self, rows: Rows, context: Context) -> None:
        return None

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        logits, labels = inputs.student.logits, true_labels(inputs.rows)
        return {
            f"encoder{i + 1}": functional.cross_entropy(logits[:, i], labels, reduction="none")
            for i in range(logits.shape[1])
        }


class TogetherCollator(Collator):
    """The first tokenizer's tokens are in the dataset; the others read the texts here."""

    def __init__(self, tokenizers: Sequence[Any], lengths: Sequence[int], texts: Texts, source: Source) -> None:
        super().__init__(tokenizers[0], source)
        self.others, self.texts = list(zip(tokenizers[1:], lengths[1:], strict=True)), texts
        self.columns = ["text", "text_pair"] if texts.is_pair else ["text"]

    def __call__(self, features: Sequence[dict[str, Any]]) -> dict[str, Any]:
        shown = self.texts.table.take([f["row"] for f in features], self.columns)
        batches = [pad(t, encode(t, shown["text"], shown.get("text_pair"), n)) for t, n in self.others]
        return super().__call__(features) | {"others": batches}
