"""Tiny random models of every architecture, each with its own tokenizer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

WORDS = [
    "refund",
    "charge",
    "invoice",
    "card",
    "money",
    "bill",
    "paid",
    "price",
    "parcel",
    "late",
    "lost",
    "box",
    "courier",
    "door",
    "address",
    "street",
    "broken",
    "password",
    "login",
    "app",
    "crash",
    "screen",
    "phone",
    "account",
    "locked",
    "code",
    "mail",
    "please",
    "my",
    "the",
    "is",
    "was",
    "a",
    "not",
    "again",
    "why",
    "where",
    "how",
    "i",
    "you",
    "we",
    "to",
    "it",
    "and",
    "for",
    "on",
    "of",
    "in",
    "with",
    "me",
    "sent",
    "got",
    "still",
    "two",
    "new",
    "old",
]

SIZES: dict[str, dict[str, Any]] = {
    "bert": {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 64},
    "roberta": {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 64},
    "distilbert": {"dim": 32, "n_heads": 4, "n_layers": 3, "hidden_dim": 64},
    "albert": {
        "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 64,
        "embedding_size": 16, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    },
    "electra": {
        "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 64, "embedding_size": 16,
    },
    "xlnet": {"d_model": 32, "n_head": 4, "n_layer": 3, "d_inner": 64},
    "deberta-v2": {
        "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 64,
        "relative_attention": True, "position_buckets": 16, "pos_att_type": ["c2p", "p2c"],
    },
    "modernbert": {
        "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "intermediate_size": 64,
        "global_attn_every_n_layers": 2, "local_attention": 16,
    },
}  # fmt: skip


def tokenizer(lower: bool = True, extra: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    """A word-level tokenizer over `WORDS`: [CLS] text [SEP] pair [SEP]."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {token: i for i, token in enumerate([*special, *extra, *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    if lower:
        backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=64, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def classifier(
    folder: Path,
    labels: Sequence[str],
    architecture: str = "bert",
    seed: int = 0,
    logit_scale: float = 2.0,
    **settings: Any,
) -> Path:
    """Save a tiny random classifier whose outputs differ between texts. With a small `logit_scale` they are uncertain."""
    words = tokenizer(extra=() if architecture == "bert" else ("x1", "x2", "x3"))
    config = transformers.AutoConfig.for_model(
        architecture,
        vocab_size=len(words),
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        cls_token_id=2,
        sep_token_id=3,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
        **({} if architecture == "xlnet" else {"max_position_embeddings": 80}),
        **(SIZES[architecture] | settings),
    )
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    model = transformers.AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
    with torch.no_grad():  # with the usual small initial weights all texts would get the same label
        for name, parameter in model.named_parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 1.0 if "embed" in name else logit_scale / math.sqrt(parameter.shape[-1]))
    torch.set_rng_state(state)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def encoder(folder: Path, architecture: str = "bert", seed: int = 7, **settings: Any) -> Path:
    """A tiny random encoder for students. Its classification head has no meaning."""
    return classifier(folder, ["a", "b"], architecture, seed, **settings)


def texts(n: int, seed: int = 0, longest: int = 12) -> list[str]:
    """Random sentences of words from `WORDS`, of different lengths."""
    generator = torch.Generator().manual_seed(seed)
    sentences = []
    for _ in range(n):
        length = int(torch.randint(2, longest, (1,), generator=generator))
        picks = torch.randint(len(WORDS), (length,), generator=generator).tolist()
        sentences.append(" ".join(WORDS[i] for i in picks))
    return sentences


def language_model(folder: Path, seed: int = 0, **settings: Any) -> Path:
    """Save a tiny random GPT-2 over the same words, one token each."""
    words = tokenizer()
    words.bos_token, words.eos_token = "[CLS]", "[SEP]"
    words.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    config = transformers.GPT2Config(
        vocab_size=len(words),
        n_positions=48,
        n_embd=32,
        n_layer=2,
        n_head=4,
        bos_token_id=2,
        eos_token_id=3,
        **settings,
    )
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.3)
    torch.set_rng_state(state)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
