"""Tiny random classifiers of architectures that are not built like BERT."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tiny
import torch
import transformers

IDS = {"vocab_size": len(tiny.tokenizer()), "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
TWO_LAYERS = IDS | {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
DECODER = TWO_LAYERS | {"num_key_value_heads": 2, "head_dim": 8}
T5 = IDS | {"d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 64, "d_kv": 8, "decoder_start_token_id": 0}
BART = IDS | {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 80, "decoder_start_token_id": 3, "forced_eos_token_id": 3,
}  # fmt: skip
IMAGES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "image_size": 28, "patch_size": 14}  # fmt: skip

CONFIGS: dict[str, Callable[[], Any]] = {
    # An encoder and a decoder.
    "bart": lambda: transformers.BartConfig(**BART),
    "t5": lambda: transformers.T5Config(**T5),
    "t5gemma": lambda: transformers.T5GemmaConfig(encoder=DECODER, decoder=DECODER),
    # Texts and images: the sizes are in a part of the configuration.
    "gemma3": lambda: transformers.Gemma3Config(text_config=DECODER, vision_config=IMAGES),
    # Later layers have fewer states.
    "funnel": lambda: transformers.FunnelConfig(
        d_model=32, block_sizes=[1, 1, 1], n_head=4, d_head=8, d_inner=64, vocab_size=IDS["vocab_size"], pad_token_id=0
    ),
    # No states that can be read.
    "perceiver": lambda: transformers.PerceiverConfig(
        num_latents=8, d_latents=32, d_model=32, num_self_attends_per_block=2, num_blocks=1, num_self_attention_heads=4,
        num_cross_attention_heads=4, vocab_size=IDS["vocab_size"], max_position_embeddings=80,
    ),
    "reformer": lambda: transformers.ReformerConfig(
        **TWO_LAYERS, attention_head_size=8, axial_pos_embds_dim=[8, 24], axial_pos_shape=[8, 10], feed_forward_size=64,
        attn_layers=["local", "local"], is_decoder=False, local_attn_chunk_length=8, max_position_embeddings=80,
    ),
    # float32 only.
    "fnet": lambda: transformers.FNetConfig(
        hidden_size=32, num_hidden_layers=2, intermediate_size=64, vocab_size=IDS["vocab_size"], pad_token_id=0,
        max_position_embeddings=80,
    ),
    "xmod": lambda: transformers.XmodConfig(
        **TWO_LAYERS, languages=["en_XX", "de_DE"], default_language="en_XX", max_position_embeddings=80
    ),
    # float32 only, or all weights in bfloat16: its attention fails under torch's autocast.
    "deberta": lambda: transformers.DebertaConfig(
        **TWO_LAYERS, relative_attention=True, pos_att_type=["c2p", "p2c"], max_position_embeddings=80
    ),
    # Convolutions in place of products of matrices.
    "squeezebert": lambda: transformers.SqueezeBertConfig(**TWO_LAYERS, embedding_size=32),
    # A decoder.
    "gpt2": lambda: transformers.GPT2Config(**IDS, n_embd=32, n_layer=2, n_head=4, n_positions=80),
    # The rate of its dropout is in a configuration inside its own.
    "mpt": lambda: transformers.MptConfig(**IDS, d_model=32, n_heads=4, n_layers=2, max_seq_len=80),
    # No dropout layers: their layers call the function.
    "opt": lambda: transformers.OPTConfig(
        **IDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, word_embed_proj_dim=32,
        max_position_embeddings=80,
    ),
}  # fmt: skip


def classifier(folder: Path, architecture: str, labels: tuple[str, ...] = ("red", "green", "blue")) -> Path:
    """Save one, with the tokenizer of the tiny models."""
    return _saved(folder, CONFIGS[architecture](), labels)


def canine(folder: Path) -> Path:
    """Save a tiny CANINE, which joins four characters. Its tokens are those of the tiny models."""
    config = transformers.CanineConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_hash_buckets=80, pad_token_id=0
    )  # fmt: skip
    return _saved(folder, config, ("red", "green", "blue"))


def _saved(folder: Path, config: Any, labels: tuple[str, ...]) -> Path:
    config.id2label, config.label2id = dict(enumerate(labels)), {label: i for i, label in enumerate(labels)}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
    model.save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder
