"""The beginning of a long text, if it has the same first tokens as the whole text.

A tokenizer reads a whole text before it truncates. For a text of a million characters and a model that reads 512 tokens, this
wastes time and memory. `beginning` returns less text, and the kept tokens stay the same, because of three rules:

1. A text is cut only between a visible ASCII character and a space (U+0020): "x| ".
2. A text is cut only for tokenizers whose parts all work locally at this place:
   - Normalizers map one character, or one sequence of base and combining characters, at a time. A space never combines with the
     character before it, and after a visible ASCII character it is not part of its grapheme.
   - At least one pre-tokenizer always splits between a visible character and a space (at whitespace, before "▁", or by GPT-2's
     pattern, in which spaces occur only at the start of a piece). The others look only at neighbouring characters.
   - No added token contains whitespace after another character, so no added token lies across the cut.
   So the pieces before the cut are the first pieces of the whole text. The model (WordPiece, BPE, Unigram, WordLevel) reads each
   piece separately, so the tokens before the cut are also the first tokens of the whole text.
3. The beginning has at least `max_length` tokens, so truncation on the right removes everything behind the cut. Of a pair at most
   one text is cut, and only if its beginning has more tokens than the other text. Truncation by "longest first" then shortens
   this text first, until both texts have the same number of tokens, and so removes everything behind the cut as well.

If one of the rules does not hold, the whole text is read.
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
METHODS = ("__call__", "_encode_plus", "_batch_encode_plus")  # a tokenizer that overrides one of these may do anything


def beginning(tokenizer: Any, text: str, pair: str | None, max_length: int) -> tuple[str, str | None]:
    """Text and pair, the longer one cut so that `tokenizer(..., truncation=True, max_length=max_length)` gives the same tokens."""
    size = 8 * max_length + 64
    if max(len(text), len(pair or "")) <= 4 * size or tokenizer.truncation_side != "right" or not is_local(tokenizer):
        return text, pair
    if pair is None:
        return _cut(tokenizer, text, size, max_length), None
    first = len(text) > len(pair)
    other = pair if first else text
    if len(other) > 4 * size:
        return text, pair  # to know which one has more tokens, both would have to be read
    min_tokens = max(max_length, _tokens(tokenizer, other) + 1)
    return (_cut(tokenizer, text, size, min_tokens), pair) if first else (text, _cut(tokenizer, pair, size, min_tokens))


def _cut(tokenizer: Any, text: str, size: int, min_tokens: int) -> str:
    """A beginning with at least `min_tokens` tokens, else the whole text. The size grows eightfold until there are enough."""
    while cut := CUT.search(text, size):
        if 2 * cut.start() > len(text):
            break
        part = text[: cut.start() + 1]
        if _tokens(tokenizer, part) >= min_tokens:
            return part
        size *= 8
    return text


def _tokens(tokenizer: Any, text: str) -> int:
    return len(tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"])


def is_local(tokenizer: Any) -> bool:
    """Whether all parts of a tokenizer work locally at "x| ", as rule 2 asks. False for unknown parts."""
    from transformers import PreTrainedTokenizerFast

    if not tokenizer.is_fast or not isinstance(tokenizer, PreTrainedTokenizerFast):
        return False
    if any(getattr(type(tokenizer), m, None) is not getattr(PreTrainedTokenizerFast, m, None) for m in METHODS):
        return False
    backend = tokenizer.backend_tokenizer
    try:
        splits = list(_parts(backend.pre_tokenizer, "pretokenizers"))
        changes = list(_parts(backend.normalizer, "normalizers"))
    except Exception:  # a part that is written in Python cannot be serialised, and raises a bare Exception
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
    """The parts of a pre-tokenizer or normalizer as tokenizer.json describes them. Nested sequences are flattened."""
    pending = [json.loads(component.__getstate__())] if component is not None else []
    while pending:
        part = pending.pop(0)
        if part["type"] == "Sequence":
            pending = [*part[key], *pending]
        else:
            yield part


def _splits(part: dict[str, Any]) -> bool:
    return part["type"] in SPLITTING or (part["type"] == "ByteLevel" and part.get("use_regex", True))


def _is_metaspace(part: dict[str, Any]) -> bool:
    return part["type"] == "Metaspace" and part.get("split", False) and part.get("replacement") == "▁"


def _replaces_locally(part: dict[str, Any], metaspace: bool) -> bool:
    """Whether it replaces only strings without inner spaces, or runs of spaces by one space (or "▁" if the pre-tokenizer splits there)."""
    if part["type"] != "Replace":
        return False
    pattern = part["pattern"]
    if "String" in pattern:
        return not _holds_space(f"x{pattern['String']}")
    return pattern == {"Regex": " {2,}"} and (part["content"] == " " or (metaspace and part["content"] == "▁"))


def _holds_space(text: str) -> bool:
    """Whether whitespace or "▁" comes after another character, before or after NFKC normalisation."""
    return any(re.search(r"[^\s▁][\s▁]", form) for form in (text, unicodedata.normalize("NFKC", text)))


def _keeps_spaces(backend: Any) -> bool:
    """Whether "a a" gives two pieces: a `Precompiled` normalizer may change a space in any way."""
    text = backend.normalizer.normalize_str("a a") if backend.normalizer is not None else "a a"
    return len(backend.pre_tokenizer.pre_tokenize_str(text)) == 2
