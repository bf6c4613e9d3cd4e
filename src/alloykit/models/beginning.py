"""The beginning of a long text, where it has the same first tokens as the whole text.

A tokenizer reads a whole text before it truncates; for a model that reads 512 tokens of a text of a million characters that
is a waste of time and memory. `beginning` gives it less, and never changes the tokens that are kept:

1. A text is only cut between a visible ASCII character and a space (U+0020): "x| ".
2. Only for tokenizers all of whose parts are known to decide there locally. Normalizers: those that map one character, or one
   sequence of base and combining characters, at a time; a space is neither composed with what stands before it nor, after a
   visible ASCII character, part of its grapheme. Pre-tokenizers: at least one that always splits between a visible character
   and a space (at whitespace, before "▁", or by GPT-2's pattern, which has spaces only at the start of a piece), and no other
   than those that look at neighbouring characters. Added tokens: none that contains whitespace after something else, so that
   none can lie across the cut. So the pieces before the cut are the first pieces of the whole text. The model (WordPiece,
   BPE, Unigram, WordLevel) reads each piece by itself, and therefore so are the tokens.
3. The tokens of the beginning are counted: there must be at least `max_length`, so that truncation on the right keeps none that
   lies behind the cut. Of a pair at most one text is cut, and only if its beginning also has more tokens than the other text
   has: "longest first" then takes from it alone down to where the beginning's tokens are equally many.

Wherever one of these does not hold, the whole text is read.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

CUT = re.compile("[!-~] ")
SPLITTING = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
LOCAL_SPLITS = {"Punctuation", "Digits", "ByteLevel"}
LOCAL_NORMALIZERS = {
    "BertNormalizer", "Lowercase", "StripAccents", "Strip", "Nmt", "NFC", "NFD", "NFKC", "NFKD", "Precompiled", "Prepend", "ByteLevel",
}  # fmt: skip
METHODS = ("__call__", "_encode_plus", "_batch_encode_plus")  # a tokenizer that overrides one may do anything in it


def beginning(tokenizer: Any, text: str, pair: str | None, max_length: int) -> tuple[str, str | None]:
    """Text and pair, the longer of them cut where `tokenizer(..., truncation=True, max_length=max_length)` stays the same."""
    size = 8 * max_length + 64
    if max(len(text), len(pair or "")) <= 4 * size or tokenizer.truncation_side != "right" or not is_local(tokenizer):
        return text, pair
    if pair is None:
        return _cut(tokenizer, text, size, max_length), None
    first = len(text) > len(pair)
    other = pair if first else text
    if len(other) > 4 * size:
        return text, pair  # which of them has more tokens would have to be known, and takes reading both
    least = max(max_length, _tokens(tokenizer, other) + 1)
    return (_cut(tokenizer, text, size, least), pair) if first else (text, _cut(tokenizer, pair, size, least))


def _cut(tokenizer: Any, text: str, size: int, least: int) -> str:
    """The shortest beginning, of sizes that grow eightfold, with at least so many tokens; else the whole text."""
    while found := CUT.search(text, size):
        if 2 * found.start() > len(text):
            break
        part = text[: found.start() + 1]
        if _tokens(tokenizer, part) >= least:
            return part
        size *= 8
    return text


def _tokens(tokenizer: Any, text: str) -> int:
    return len(tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"])


def is_local(tokenizer: Any) -> bool:
    """Whether all parts of a tokenizer are among those that split "x| " whatever follows. False for those that are not known."""
    from transformers import PreTrainedTokenizerFast

    if not tokenizer.is_fast or not isinstance(tokenizer, PreTrainedTokenizerFast):
        return False
    if any(getattr(type(tokenizer), m, None) is not getattr(PreTrainedTokenizerFast, m, None) for m in METHODS):
        return False
    backend = tokenizer.backend_tokenizer
    try:
        splits = list(_parts(backend.pre_tokenizer, "pretokenizers"))
        changes = list(_parts(backend.normalizer, "normalizers"))
    except Exception:  # one written in Python cannot be serialised, and says so with a bare Exception
        return False
    metaspace = any(_is_metaspace(part) for part in splits)
    return (
        (metaspace or any(_splits(part) for part in splits))
        and all(_splits(part) or _is_metaspace(part) or part["type"] in LOCAL_SPLITS for part in splits)
        and all(part["type"] in LOCAL_NORMALIZERS or _replaces_locally(part, metaspace) for part in changes)
        and not any(_holds_space(str(token)) for token in tokenizer.added_tokens_decoder.values())
        and _keeps_spaces(backend)
    )


def _parts(component: Any, key: str) -> Iterator[dict[str, Any]]:
    """The parts of a pre-tokenizer or normalizer as tokenizer.json describes them, sequences within sequences laid flat."""
    waiting = [json.loads(component.__getstate__())] if component is not None else []
    while waiting:
        part = waiting.pop(0)
        if part["type"] == "Sequence":
            waiting = [*part[key], *waiting]
        else:
            yield part


def _splits(part: dict[str, Any]) -> bool:
    return part["type"] in SPLITTING or (part["type"] == "ByteLevel" and part.get("use_regex", True))


def _is_metaspace(part: dict[str, Any]) -> bool:
    return part["type"] == "Metaspace" and part.get("split", False) and part.get("replacement") == "▁"


def _replaces_locally(part: dict[str, Any], metaspace: bool) -> bool:
    """Replacing a string without spaces, or runs of spaces by one of what the pre-tokenizer splits at."""
    if part["type"] != "Replace":
        return False
    pattern = part["pattern"]
    if "String" in pattern:
        return not _holds_space(f"x{pattern['String']}")
    return pattern == {"Regex": " {2,}"} and (part["content"] == " " or (metaspace and part["content"] == "▁"))


def _holds_space(text: str) -> bool:
    """Whether whitespace, or what stands for it, comes after another character, in any normal form."""
    return any(re.search(r"[^\s▁][\s▁]", form) for form in (text, unicodedata.normalize("NFKC", text)))


def _keeps_spaces(backend: Any) -> bool:
    """Whether "a a" is two pieces after all: a table of characters may do anything to a space."""
    text = backend.normalizer.normalize_str("a a") if backend.normalizer is not None else "a a"
    return len(backend.pre_tokenizer.pre_tokenize_str(text)) == 2
