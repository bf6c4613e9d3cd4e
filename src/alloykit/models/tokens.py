"""Texts as token ids: encode and pad them, and count how many tokens a model can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.beginning import beginning
from alloykit.models.token_states import text_part
from alloykit.progress import silenced

UNLIMITED = 100_000  # a larger `model_max_length` of a tokenizer means that it was never set
DEFAULT_LENGTH = 512
POSITIONS = ("position_embeddings", "embed_positions", "wpe")
"""How the names of position embeddings end: in most encoders, in BART and OPT, and in GPT-2."""
FEWEST = "alloykit_fewest_tokens"
"""Attribute of a tokenizer: how many tokens its model needs."""
Encodings = Sequence[Mapping[str, list[int]]]
"""Per text its token ids, attention mask and, for some tokenizers, token types."""

MAX_CHARACTERS = 2_000_000  # that a tokenizer gets at once; it needs about 75 bytes for each


def encode(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str | None] | None, max_length: int
) -> list[dict[str, list[int]]]:
    """Token ids and attention mask of each text, truncated, not padded. A text whose pair is None is read alone.

    The tokenizer reads only the beginning of a long text, if that does not change the tokens.
    """
    encodings: list[dict[str, list[int]]] = [{} for _ in texts]
    shortened = [
        beginning(tokenizer, text, pair, max_length)
        for text, pair in zip(texts, pairs if pairs is not None else [None] * len(texts), strict=True)
    ]
    for alone in (True, False):
        places = [i for i, (_, second) in enumerate(shortened) if (second is None) == alone]
        for at in portions(places, [len(first) + len(second or "") for first, second in shortened]):
            firsts, seconds = zip(*(shortened[i] for i in at), strict=True)
            with _quiet(tokenizer):
                encoded = tokenizer(
                    list(firsts), None if alone else list(seconds),
                    truncation=True, max_length=max_length, return_attention_mask=True,
                )  # fmt: skip
            for n, i in enumerate(at):
                encodings[i] = with_a_token(tokenizer, {key: encoded[key][n] for key in encoded})
    return encodings


def _quiet(tokenizer: Any) -> AbstractContextManager[None]:
    """A tokenizer in Python warns of every long pair that it cuts. A fast one says nothing."""
    return nullcontext() if tokenizer.is_fast else silenced("transformers")


def with_a_token(tokenizer: Any, ids: dict[str, list[int]]) -> dict[str, list[int]]:
    """The encoding of a text, which has at least one token: that of an unknown word, else the one to pad with, where a tokenizer without special tokens
    leaves nothing. It may remove all characters of a text, such as a zero-width space. No model reads a text without tokens."""
    if ids["input_ids"]:
        return ids
    known = (tokenizer.unk_token_id, tokenizer.pad_token_id)
    token = next((found for found in known if found is not None), None)
    if token is None:
        return ids
    return {key: [{"input_ids": token, "attention_mask": 1}.get(key, 0)] for key in ids}


def portions(places: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places in order, in lists of at most MAX_CHARACTERS characters or of one text. lengths: characters of the text at each place."""
    portion: list[int] = []
    size = 0
    for place in places:
        if portion and size + lengths[place] > MAX_CHARACTERS:
            yield portion
            portion, size = [], 0
        portion.append(place)
        size += lengths[place]
    if portion:
        yield portion


def encode_untruncated(tokenizer: Any, texts: Sequence[str]) -> Iterator[np.ndarray[Any, np.dtype[np.int32]]]:
    """Token ids of each text, not truncated and without special tokens: int32 [tokens]."""
    for at in portions(range(len(texts)), [len(text) for text in texts]):
        encoded = tokenizer([texts[i] for i in at], add_special_tokens=False, verbose=False)
        yield from (np.asarray(ids, dtype=np.int32) for ids in encoded["input_ids"])


def share_pad_token(config: Any, tokenizer: Any) -> None:
    """If only the configuration or only the tokenizer names a token to pad with, the other gets it. GPT-2 and Llama come without one, and who fine-tunes
    them often sets it in one place."""
    config = text_part(config)
    of_config, of_tokenizer = getattr(config, "pad_token_id", None), tokenizer.pad_token_id
    if of_tokenizer is None and isinstance(of_config, int) and 0 <= of_config < len(tokenizer):
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(of_config)
    elif of_tokenizer is not None and of_config is None:
        config.pad_token_id = of_tokenizer


def note_fewest_tokens(config: Any, tokenizer: Any) -> None:
    """Note in the tokenizer how many tokens the model needs: `pad` pads shorter texts. Funnel halves its states between two blocks and CANINE joins
    neighbouring ones, and both fail for a text that leaves none."""
    blocks, joined = getattr(config, "block_sizes", None), getattr(config, "downsampling_rate", None)
    if config.model_type == "funnel" and isinstance(blocks, list):
        setattr(tokenizer, FEWEST, 2 ** (len(blocks) - 1) + 1)
    elif config.model_type == "canine" and isinstance(joined, int):
        setattr(tokenizer, FEWEST, joined)


def pad(tokenizer: Any, encodings: Encodings) -> dict[str, Tensor]:
    """A batch of int64 tensors, padded on the tokenizer's side to its longest text, or to the fewest tokens that the model needs. Else the same as
    `tokenizer.pad`, ten times faster."""
    fills = {
        "input_ids": tokenizer.pad_token_id,
        "attention_mask": 0,
        "token_type_ids": getattr(tokenizer, "pad_token_type_id", 0),
    }
    lengths, fewest = [len(e["input_ids"]) for e in encodings], getattr(tokenizer, FEWEST, 0)
    if len(encodings) == 1 and lengths[0] >= fewest:  # nothing to pad
        return {key: torch.tensor([value], dtype=torch.int64) for key, value in encodings[0].items()}
    if tokenizer.pad_token_id is None or not encodings[0].keys() <= fills.keys():
        return dict(tokenizer.pad({key: [e[key] for e in encodings] for key in encodings[0]}, return_tensors="pt"))
    longest, left, found = max(fewest, *lengths), tokenizer.padding_side == "left", {}
    for key in encodings[0]:
        values = np.full((len(encodings), longest), fills[key], dtype=np.int64)
        for row, encoding, n in zip(values, encodings, lengths, strict=True):
            row[longest - n if left else 0 :][:n] = encoding[key]
        found[key] = torch.from_numpy(values)
    return found


def most_tokens(config: Any, tokenizer: Any) -> int | None:
    """Tokens per text that a model can read by its configuration and its tokenizer; None if neither sets a limit. Weights are not needed."""
    limits = (getattr(config, "max_position_embeddings", None), tokenizer.model_max_length)
    return min((n for n in limits if isinstance(n, int) and 0 < n < UNLIMITED), default=None)


def usable_length(model: Any, tokenizer: Any, wanted: int | None) -> int:
    """Tokens per text that both model and tokenizer can take: the smallest of `wanted`, the tokenizer's limit and the number of position embeddings that
    can be used; 512 if there is none of the three.

    RoBERTa-style models count positions from padding_idx + 1, and BART counts them from its offset: 514 position embeddings are enough for 512 tokens.
    """
    limits = [limit for limit in (wanted, tokenizer.model_max_length) if limit is not None and limit < UNLIMITED]
    tables = [
        module.num_embeddings - getattr(module, "offset", 0 if module.padding_idx is None else module.padding_idx + 1)
        for name, module in model.named_modules()
        if name.endswith(POSITIONS) and isinstance(module, torch.nn.Embedding)
    ]
    return int(min([*limits, *tables], default=DEFAULT_LENGTH))


def check_tokens(ids: Iterable[int], model: Any, name: str) -> None:
    """AlloyError for token ids without an embedding in the model. ids: in any order."""
    rows = getattr(_embeddings(model), "num_embeddings", None)
    highest, lowest = max(ids := list(ids), default=0), min(ids, default=0)
    if rows is not None and (highest >= rows or lowest < 0):
        raise AlloyError(
            expected=f"a tokenizer that fits the model '{name}', which has {rows:,} tokens",
            got=f"one with a token of number {highest if highest >= rows else lowest:,}",
            hint="Save the model's own tokenizer in its folder.",
        )


def _embeddings(model: Any) -> Any:
    """The table of token embeddings; None for a model without one, such as a character model."""
    try:
        return model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        return None
