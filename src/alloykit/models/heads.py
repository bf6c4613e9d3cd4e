"""A classifier whose head pools all tokens by attention (MT-BERT §2.1, §3.1): the head that co-finetuned teachers share.

    α_t ∝ exp(qᵀ tanh(V h_t + v)) over the real tokens        u = Σ_t α_t h_t        logits = W u + b

An encoder of another width than the head's gets one linear map in front of it (ours). In a folder the encoder lies as
`save_pretrained` leaves it, the head beside it in head.safetensors, and its sizes in the encoder's configuration.
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
MARK, FILE, ARCHITECTURE = "alloykit_head", "head.safetensors", "PooledSequenceClassification"


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
    """An encoder under a `PooledHead`; to its users a sequence-classification model. `head` may be shared between several."""

    base_model_prefix = "encoder"

    def __init__(self, encoder: Any, head: PooledHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        width, own = head.out.in_features, encoder.config.hidden_size
        self.to_shared: nn.Module = nn.Linear(own, width) if own != width else nn.Identity()
        self.config = encoder.config
        setattr(self.config, MARK, {"width": width, "labels": head.out.out_features})

    @property
    def device(self) -> torch.device:
        return self.head.out.weight.device

    def forward(self, attention_mask: Tensor, **inputs: Any) -> SequenceClassifierOutput:
        found = self.encoder(attention_mask=attention_mask, **inputs)
        logits = self.head(self.to_shared(found.last_hidden_state), attention_mask)
        return SequenceClassifierOutput(logits=logits, hidden_states=found.get("hidden_states"))

    def get_input_embeddings(self) -> Any:
        return self.encoder.get_input_embeddings()

    def set_attn_implementation(self, name: str) -> None:
        self.encoder.set_attn_implementation(name)

    def save_pretrained(self, folder: str | Path) -> None:
        self.encoder.save_pretrained(folder)
        self.config.architectures = [ARCHITECTURE]  # the encoder has put its own class there
        self.config.save_pretrained(folder)
        state = {f"head.{k}": v for k, v in self.head.state_dict().items()}
        state |= {f"to_shared.{k}": v for k, v in self.to_shared.state_dict().items()}
        safetensors.torch.save_file({k: v.contiguous() for k, v in state.items()}, Path(folder) / FILE)


def is_pooled(config: Any) -> bool:
    """Whether this configuration belongs to a folder with a pooled head."""
    return getattr(config, MARK, None) is not None


def with_head(whole: Any, folder: Path) -> PooledClassifier:
    """The encoder of `whole` under the head that lies in its folder. AlloyError for a head that is missing, damaged, or of another
    size than the configuration says.

    whole: the encoder as it stands under a classification head. By itself it might come with a pooler that nobody trained.
    """
    sizes = getattr(whole.config, MARK)
    try:
        state = safetensors.torch.load_file(folder / FILE)
        labels, width = state["head.out.weight"].shape
        if sizes != {"width": width, "labels": labels} or whole.config.num_labels != labels:
            raise ValueError("another size than the configuration describes")
        model = PooledClassifier(whole.base_model, PooledHead(width, labels))
        own = {k: v for k, v in model.state_dict().items() if not k.startswith("encoder.")}
        if {k: v.shape for k, v in own.items()} != {k: v.shape for k, v in state.items()}:
            raise ValueError("other tensors than the configuration describes")
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise AlloyError(
            expected=f"the pooled head {FILE} in '{folder}'", got=f"'{error}'", hint="Copy the whole folder again."
        ) from error
    model.load_state_dict(state, strict=False)
    return model
