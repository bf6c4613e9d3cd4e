"""A classifier with attentive pooling over all tokens (MT-BERT §2.1, §3.1): the head that co-finetuned teachers share.

    α_t ∝ exp(qᵀ tanh(V h_t + v)) over the real tokens        u = Σ_t α_t h_t        logits = W u + b

An encoder whose width differs from the head's gets one linear map before the head (ours). A folder holds the encoder as
`save_pretrained` writes it, the head in head.safetensors, and the head's sizes in the encoder's configuration.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from alloykit.errors import AlloyError

QUERY = 200  # §3.1: the attention query's dimension
HEAD_KEY, HEAD_FILE, ARCHITECTURE = "alloykit_head", "head.safetensors", "PooledSequenceClassification"


class PooledHead(nn.Module):
    """Attentive pooling and one dense layer: [B, L, d], [B, L] → [B, C]."""

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.keys, self.query = nn.Linear(width, QUERY), nn.Linear(QUERY, 1, bias=False)
        self.out = nn.Linear(width, labels)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        scores = self.query(torch.tanh(self.keys(states))).squeeze(-1)
        alpha = scores.masked_fill(mask == 0, float("-inf")).softmax(-1)
        logits: Tensor = self.out((alpha.unsqueeze(-1) * states).sum(1))
        return logits


class PooledClassifier(nn.Module):
    """An encoder with a `PooledHead`. It behaves like a sequence-classification model. Several classifiers may share one head."""

    base_model_prefix = "encoder"

    def __init__(self, encoder: Any, head: PooledHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        width, encoder_width = head.out.in_features, encoder.config.hidden_size
        self.to_shared: nn.Module = nn.Linear(encoder_width, width) if encoder_width != width else nn.Identity()
        self.config = encoder.config
        setattr(self.config, HEAD_KEY, {"width": width, "labels": head.out.out_features})

    @property
    def device(self) -> torch.device:
        return self.head.out.weight.device

    def forward(self, attention_mask: Tensor, **inputs: Any) -> SequenceClassifierOutput:
        states = self.encoder(attention_mask=attention_mask, **inputs)
        logits = self.head(self.to_shared(states.last_hidden_state), attention_mask)
        return SequenceClassifierOutput(logits=logits, hidden_states=states.get("hidden_states"))

    def get_input_embeddings(self) -> Any:
        return self.encoder.get_input_embeddings()

    def set_attn_implementation(self, name: str) -> None:
        self.encoder.set_attn_implementation(name)

    def save_pretrained(self, folder: str | Path) -> None:
        self.encoder.save_pretrained(folder)
        self.config.architectures = [ARCHITECTURE]  # the encoder wrote its own class
        self.config.save_pretrained(folder)
        state = {f"head.{k}": v for k, v in self.head.state_dict().items()}
        state |= {f"to_shared.{k}": v for k, v in self.to_shared.state_dict().items()}
        safetensors.torch.save_file({k: v.contiguous() for k, v in state.items()}, Path(folder) / HEAD_FILE)


def is_pooled(config: Any) -> bool:
    """Whether this is the configuration of a classifier with a pooled head."""
    return getattr(config, HEAD_KEY, None) is not None


def load_pooled_head(model: Any, folder: Path) -> PooledClassifier:
    """The encoder of `model` with the pooled head from its folder.

    model: the encoder with a classification head. Without one, transformers may add a pooler with random weights. AlloyError for a head that
    is missing, damaged, or of another size than the configuration says.
    """
    sizes = getattr(model.config, HEAD_KEY)
    try:
        state = safetensors.torch.load_file(folder / HEAD_FILE)
        labels, width = state["head.out.weight"].shape
        if sizes != {"width": width, "labels": labels} or model.config.num_labels != labels:
            raise ValueError("another size than the configuration describes")
        classifier = PooledClassifier(model.base_model, PooledHead(width, labels))
        parameters = {k: v for k, v in classifier.state_dict().items() if not k.startswith("encoder.")}
        if {k: v.shape for k, v in parameters.items()} != {k: v.shape for k, v in state.items()}:
            raise ValueError("other tensors than the configuration describes")
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise AlloyError(
            expected=f"the pooled head {HEAD_FILE} in '{folder}'", got=f"'{error}'", hint="Copy the whole folder again."
        ) from error
    classifier.load_state_dict(state, strict=False)
    return classifier
