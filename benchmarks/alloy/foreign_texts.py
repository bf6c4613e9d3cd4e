"""Texts of other data sets, for teachers whose encoder was trimmed to the word pieces of their own set."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from benchmarks.harness.data import read

CANDIDATES = 8000  # texts of a source that are looked at


def texts_of_a_source(data: Path, source: str, tokenizer: Any, most: int) -> list[str]:
    """At most so many texts of a set's training file of which the tokenizer knows all word pieces, in an order that the source's name draws."""
    candidates = [t for t in read(data / source / "train.parquet")["text"][:CANDIDATES] if t]
    random.Random(source).shuffle(candidates)
    known = (
        t for t in candidates if tokenizer.unk_token_id not in tokenizer(t, truncation=True, max_length=24).input_ids
    )
    return [text for text, _ in zip(known, range(most), strict=False)]
