"""Co-finetuning: several encoders are fine-tuned together under one shared head (MT-BERT; Wu et al. 2021, §2.1)."""

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
from alloykit.models.long_texts import LongTexts, encode_long, in_training
from alloykit.models.tokens import pad
from alloykit.outputs import Rows, Source
from alloykit.training.dataset import Collator

TokenBatch = Mapping[str, Tensor]


class CoFinetunedEncoders(nn.Module):
    """N encoders, each with its own tokenizer, and one shared head. forward → logits [B, N, C], from one batch of token ids per encoder."""

    def __init__(self, encoders: Sequence[Any], head: PooledHead) -> None:
        super().__init__()
        single = [PooledClassifier(encoder, head) for encoder in encoders]
        self.encoders, self.maps = nn.ModuleList(s.encoder for s in single), nn.ModuleList(s.to_shared for s in single)
        self.head, self.config = head, encoders[0].config

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, others: Sequence[TokenBatch], **rest: Any
    ) -> SequenceClassifierOutput:
        types = {key: rest[key] for key in ("token_type_ids",) if key in rest}
        batches: list[Any] = [{"input_ids": input_ids, "attention_mask": attention_mask, **types}, *others]
        logits = []
        for encoder, widen, batch in zip(self.encoders, self.maps, batches, strict=True):
            logits.append(self.head(widen(encoder(**batch).last_hidden_state), batch["attention_mask"]))
        return SequenceClassifierOutput(logits=torch.stack(logits, 1))

    def split(self) -> list[PooledClassifier]:
        """Each encoder as a classifier of its own; all have the same head."""
        classifiers = []
        for encoder, widen in zip(self.encoders, self.maps, strict=True):
            classifier = PooledClassifier(encoder, self.head)
            classifier.to_shared = widen
            classifiers.append(classifier)
        return classifiers


class CoFinetuning(Method):
    """Σ_i CE(y, y_i). It trains teachers, so it is not in the registry of methods that train students."""

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


class CoFinetuningCollator(Collator):
    """The dataset holds the first tokenizer's tokens. The other tokenizers read the texts here."""

    def __init__(
        self,
        tokenizers: Sequence[Any],
        lengths: Sequence[int],
        texts: Texts,
        source: Source,
        long_texts: LongTexts = "head",
    ) -> None:
        super().__init__(tokenizers[0], source)
        self.long_texts = in_training(long_texts)
        self.others, self.texts = list(zip(tokenizers[1:], lengths[1:], strict=True)), texts
        self.columns = texts.text_columns

    def __call__(self, features: Sequence[dict[str, Any]]) -> dict[str, Any]:
        texts = self.texts.table.take([f["row"] for f in features], self.columns)
        batches = [
            pad(t, encode_long(t, texts["text"], texts.get("text_pair"), n, self.long_texts)) for t, n in self.others
        ]
        return super().__call__(features) | {"others": batches}
