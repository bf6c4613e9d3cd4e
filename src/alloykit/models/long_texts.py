"""Texts longer than a model reads: which tokens are kept, or all of them in chunks whose answers are averaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from alloykit.models.tokens import encode, portions, with_a_token

LongTexts = Literal["head", "tail", "head_tail", "mean"]
LONG_TEXTS = "alloykit_long_texts"
"""Key of config.json: how the classifier reads long texts; `head` without it."""
HEAD_SHARE = 4  # head_tail keeps a quarter at the beginning: 128 of 512 tokens, as Sun et al. 2019 (§5.3.1)
TokenIds = dict[str, list[int]]


class Chunks(list[TokenIds]):
    """Token ids of the chunks of n texts, one text after another. `owners`: the text of each chunk, [chunks] int64, ascending."""

    def __init__(self, texts: Sequence[Sequence[TokenIds]]) -> None:
        super().__init__(chunk for text in texts for chunk in text)
        self.texts = len(texts)
        self.owners = torch.tensor([i for i, text in enumerate(texts) for _ in text], dtype=torch.int64)

    def mean(self, values: Tensor) -> Tensor:
        """The mean over the chunks of each text: [..., chunks, width] → [..., n, width]."""
        sums = values.new_zeros(*values.shape[:-2], self.texts, values.shape[-1]).index_add_(-2, self.owners, values)
        return sums / self.owners.bincount(minlength=self.texts).to(values.dtype)[:, None]

    def mean_logits(self, logits: Tensor, *, multi_label: bool = False) -> Tensor:
        """Logits whose softmax is the mean of the chunks' probabilities, [chunks, C] → [n, C] float32. multi_label: whose sigmoid is this mean, label by
        label.

        With a softmax, their log-sum-exp is the mean of the chunks' log-sum-exps, so that energies keep their scale. A text of one chunk keeps its logits.
        """
        found = []
        for part in logits.split(self.owners.bincount(minlength=self.texts).tolist()):
            if len(part) > 1:
                z = part.double()
                if multi_label:  # log of the mean of p, minus log of the mean of 1 − p
                    yes, no = (torch.logsumexp(logsigmoid(sign * z), 0, keepdim=True) for sign in (1, -1))
                    part = (yes - no).float()
                else:
                    logs = torch.logsumexp(z.log_softmax(-1), 0, keepdim=True) - torch.tensor(len(z)).log()
                    part = (logs + z.logsumexp(-1).mean()).float()
            found.append(part)
        return torch.cat(found) if found else logits


def long_texts_of(config: Any) -> LongTexts:
    """How a classifier reads long texts, by its configuration."""
    found: LongTexts = getattr(config, LONG_TEXTS, None) or "head"  # checked when the folder was read
    return found


def set_long_texts(model: Any, long_texts: LongTexts) -> None:
    """Note in a classifier's configuration how it reads long texts."""
    if long_texts != "head":
        setattr(model.config, LONG_TEXTS, long_texts)


def is_long_texts(value: Any) -> bool:
    """Whether a value is one of the settings."""
    return isinstance(value, str) and value in get_args(LongTexts)


def in_training(long_texts: LongTexts) -> LongTexts:
    """What a student learns from: a text is one example, so `mean` trains on the beginning."""
    return "head" if long_texts == "mean" else long_texts


def encode_long(
    tokenizer: Any,
    texts: Sequence[str],
    pairs: Sequence[str | None] | None,
    max_length: int,
    long_texts: LongTexts,
) -> list[TokenIds]:
    """Token ids and attention mask of each text, at most `max_length` each, not padded; special tokens are always kept.

    head: the first tokens, as the tokenizer truncates. tail: the last ones. head_tail: the first quarter and the last three quarters.
    mean: `Chunks` of equal length. Of a pair the longer text is cut first, as the tokenizer does; with `mean` every chunk has the
    shorter text, at most half of the tokens, and a part of the longer one.
    """
    if long_texts == "head":
        return encode(tokenizer, texts, pairs, max_length)
    found = []
    for ids, first, second in _whole(tokenizer, texts, pairs):
        special = set(range(len(ids["input_ids"]))) - {*first, *second}
        chosen = _parts(first, second, max(2, max_length - len(special)), long_texts)
        places = [sorted(special.union(*parts)) for parts in chosen]
        kept = [{key: [values[k] for k in at] for key, values in ids.items()} for at in places]
        found.append([with_a_token(tokenizer, one) for one in kept])
    return Chunks(found) if long_texts == "mean" else [chunk for (chunk,) in found]


Body = list[int]
"""Places of a text's own tokens, without special tokens."""


def _whole(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str | None] | None
) -> Iterator[tuple[TokenIds, Body, Body]]:
    """Untruncated token ids with special tokens, and the places of the first and of the second text in them."""
    seconds = pairs if pairs is not None else [None] * len(texts)
    found: dict[int, tuple[TokenIds, Body, Body]] = {}
    for alone in (True, False):
        places = [i for i, second in enumerate(seconds) if (second is None) == alone]
        for at in portions(
            places, [len(text) + len(second or "") for text, second in zip(texts, seconds, strict=True)]
        ):
            first = [texts[i] for i in at]
            encoded = tokenizer(
                first, None if alone else [seconds[i] for i in at],
                truncation=False, return_attention_mask=True, return_special_tokens_mask=True, verbose=False,
            )  # fmt: skip
            for n, i in enumerate(at):
                ids = {key: encoded[key][n] for key in encoded if key != "special_tokens_mask"}
                own = [k for k, special in enumerate(encoded["special_tokens_mask"][n]) if not special]
                size = len(own)
                if tokenizer.is_fast:
                    whose = encoded.sequence_ids(n)
                    own = [k for k, which in enumerate(whose) if which is not None]
                    size = whose.count(0)
                elif not alone:
                    size = len(tokenizer(first[n], add_special_tokens=False, verbose=False)["input_ids"])
                found[i] = ids, own[:size], own[size:]
    return (found[i] for i in range(len(texts)))


def _parts(first: Body, second: Body, room: int, long_texts: LongTexts) -> Iterator[tuple[Body, Body]]:
    """The places that are kept of both texts, for each chunk. room: tokens for both together."""
    if long_texts != "mean":
        sizes = _longest_first(len(first), len(second), room)
        yield _cut(first, sizes[0], long_texts), _cut(second, sizes[1], long_texts)
        return
    swapped = len(second) > len(first)
    long, short = (second, first) if swapped else (first, second)
    short = short[: room // 2]
    n = max(1, -(-len(long) // (room - len(short))))
    for i in range(n):
        part = long[len(long) * i // n : len(long) * (i + 1) // n]
        yield (short, part) if swapped else (part, short)


def _cut(body: Body, size: int, long_texts: LongTexts) -> Body:
    if size >= len(body):
        return body
    head = size // HEAD_SHARE if long_texts == "head_tail" else 0
    return body[:head] + body[len(body) - size + head :]


def _longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of both texts remain: those that a tokenizer keeps with its strategy `longest_first`."""
    if first + second <= room:
        return first, second
    short = min(first, second)
    long = max(short, room - short)
    if short + long > room:
        short, long = room // 2, room - room // 2
    return (long, short) if first > second else (short, long)
