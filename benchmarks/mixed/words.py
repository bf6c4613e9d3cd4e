"""Into how many tokens the English encoder's tokenizer splits a word, in texts of many sets and languages: what the warning about a language goes by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.blocks import ModelSpec
from alloykit.evaluation.tokenizer_statistics import tokenizer_statistics
from alloykit.models.loading import load_tokenizer
from alloykit.models.tokens import encode_untruncated
from benchmarks.harness.data import FOREIGN, read
from benchmarks.harness.sets import LANGUAGES, SETS, SLOVENE_FORUM
from benchmarks.speed.measure import Measurement

MODEL = "bundled:minilm"
TEXTS, CHARACTERS = 400, 5_000  # the first texts of a set, and what is read of each
WHOLE = 1_000_000  # a number of tokens that no text has
CHINESE = ("thucnews_titles", "cnews_1k")
OTHERS = (LANGUAGES.name, SLOVENE_FORUM.name, *CHINESE)  # not English


def run(data: Path, work: Path) -> dict[str, Any]:
    """Tokens per word, by English set and by language."""
    tokenizer = load_tokenizer(ModelSpec(model=MODEL))

    def of(texts: list[str]) -> float:
        shown = [text[:CHARACTERS] for text in texts]
        ids = list(encode_untruncated(tokenizer, shown))
        return float(tokenizer_statistics(ids, shown, tokenizer, WHOLE)["tokens_per_word"])

    def first(folder: str) -> list[str]:
        return list(read(data / folder / "train.parquet")[:TEXTS]["text"])

    english = dict.fromkeys([s.folder or name for name, s in SETS.items() if name not in OTHERS] + [FOREIGN])
    rows = list(read(data / LANGUAGES.name / "train.parquet"))
    by_language = {
        name: [row["text"] for row in rows if row["label"] == n][:TEXTS] for n, name in enumerate(LANGUAGES.labels)
    }
    return {
        "model": MODEL,
        "texts": TEXTS,
        "english": {name: of(first(name)) for name in english},
        "languages": {name: of(texts) for name, texts in by_language.items()},
        "forum": of(first(SLOVENE_FORUM.name)),
    }


TABLE = Measurement("words", "tokens of a word, by set and language", run, "mixed")
