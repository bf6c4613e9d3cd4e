"""What a tokenizer makes of some texts, and whether it probably does not know their language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

UNKNOWN_TOKENS = 0.05  # share of the tokens
LARGE = 100_000  # a vocabulary of more tokens is for many languages, and splits more words of each
TOKENS_PER_WORD, TOKENS_PER_WORD_OF_LARGE = 1.4, 2.0
TOKENS_PER_WIDE_CHARACTER = 1.5  # of scripts that are cut character by character anyway
BY_CHARACTER = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
"""Tokenizers whose tokens are characters or bytes in every language."""
# Scripts without spaces between words (Thai to Burmese, Khmer, Chinese, Japanese), and Korean
WITHOUT_SPACES = r"\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
WIDE = re.compile(f"[{WITHOUT_SPACES}]")
# A word: a character of these scripts, letters of others, a digit, or a sign
WORD = re.compile(rf"[{WITHOUT_SPACES}]|[^\W\d_{WITHOUT_SPACES}]+|\d|[^\w\s]|_")


def tokenizer_statistics(
    encodings: Sequence[Any], texts: Sequence[str], tokenizer: Any, max_length: int, long_texts: str = "head"
) -> dict[str, Any]:
    """Statistics of a tokenizer on some texts.

    `unknown_tokens`: share of [UNK] among all tokens; None for tokenizers without one (byte-level). `truncated_texts`: share
    of texts longer than the model reads. `lost_tokens`: share of all tokens that it does not read. `tokens`: mean per text.
    `tokens_per_word`: in scripts without spaces between words, a character counts as a word. `spelled_out`: whether there are so many that the tokenizer
    probably does not know the language.

    The tokenizer of all-MiniLM-L6-v2 has 1.0 to 1.2 tokens per word on 19 English sets, and 1.6 to 2.6 in 21 other languages of the Latin script
    (`python -m benchmarks mixed words`).

    encodings: token ids of the whole texts, without special tokens and not truncated.
    """
    lengths = torch.tensor([len(ids) for ids in encodings], dtype=torch.float64)
    special = int(tokenizer.num_special_tokens_to_add())
    room = max(1, max_length - special)
    total = float(lengths.sum())
    characters = sum(sum(not c.isspace() for c in text) for text in texts) or 1
    wide = sum(len(WIDE.findall(text)) for text in texts) > characters / 2
    words = sum(len(WORD.findall(text)) for text in texts) or 1
    limit = TOKENS_PER_WIDE_CHARACTER if wide else _limit(tokenizer)
    unknown = tokenizer.unk_token_id
    byte_level = unknown is None or unknown in (tokenizer.eos_token_id, tokenizer.bos_token_id)
    return {
        "unknown_tokens": None
        if byte_level
        else sum(ids.count(unknown) for ids in map(list, encodings)) / max(total, 1),
        "truncated_texts": 0.0 if long_texts == "mean" else float((lengths > room).double().mean()),
        "lost_tokens": 0.0 if long_texts == "mean" else float((lengths - room).clamp(min=0).sum() / max(total, 1)),
        "long_texts": long_texts,
        "tokens": float(lengths.mean()) + special,
        "tokens_per_word": total / words,
        "spelled_out": total / words > limit and type(tokenizer).__name__ not in BY_CHARACTER,
    }


def language_doubt(statistics: Mapping[str, Any]) -> str | None:
    """Why a model probably does not know the language of the texts, as the end of a sentence about it; None if nothing says so.

    statistics: of `tokenizer_statistics`; empty for a model without a tokenizer."""
    unknown = statistics.get("unknown_tokens")
    if unknown is not None and unknown > UNKNOWN_TOKENS:
        return f"does not know {100 * unknown:.0f} % of the tokens of the texts ([UNK])"
    if statistics.get("spelled_out"):
        return f"splits a word of the texts into {statistics['tokens_per_word']:.1f} tokens on average (1.0 to 1.3 are usual in a language that it knows)"
    return None


def _limit(tokenizer: Any) -> float:
    return TOKENS_PER_WORD_OF_LARGE if tokenizer.vocab_size > LARGE else TOKENS_PER_WORD
