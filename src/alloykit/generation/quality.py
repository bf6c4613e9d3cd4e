"""Quality of generated texts: control, diversity, and perplexity of the language model without steering."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from alloykit.generation.writer import GeneratedText

BLEU_TEXTS, BLEU_ORDER = 100, 4  # self-BLEU compares each of 100 texts with the 99 others


def text_quality(texts: Sequence[GeneratedText]) -> dict[str, Any]:
    """Quality of some generated texts, by name.

    control: share of texts to which the teacher gives the wanted class. distinct_n: different n-grams over all n-grams. self_bleu:
    mean BLEU-4 of a text against the others, high if texts repeat each other.
    """
    words = [t.text.split() for t in texts]
    finite = [t.perplexity for t in texts if np.isfinite(t.perplexity)]
    return {
        "texts": len(texts),
        "control": float(np.mean([t.predicted == t.label for t in texts])) if texts else 0.0,
        "confidence": float(np.mean([t.confidence for t in texts])) if texts else 0.0,
        "perplexity": float(np.exp(np.mean(np.log(finite)))) if finite else None,
        "words": float(np.mean([len(w) for w in words])) if texts else 0.0,
        "distinct_1": distinct(words, 1),
        "distinct_2": distinct(words, 2),
        "self_bleu": self_bleu(words),
    }


def distinct(texts: Sequence[Sequence[str]], n: int) -> float:
    """Number of different n-grams over the number of all n-grams (Li et al. 2016)."""
    grams = [tuple(words[i : i + n]) for words in texts for i in range(len(words) - n + 1)]
    return len(set(grams)) / len(grams) if grams else 0.0


def self_bleu(texts: Sequence[Sequence[str]]) -> float:
    """Mean BLEU-4 of each of at most 100 texts, with the others as references, add-one smoothed (Zhu et al. 2018)."""
    sample = [list(words) for words in texts if len(words) >= BLEU_ORDER]
    random.Random(0).shuffle(sample)
    sample = sample[:BLEU_TEXTS]
    if len(sample) < 2:
        return 0.0
    return float(np.mean([bleu(words, sample[:i] + sample[i + 1 :]) for i, words in enumerate(sample)]))


def bleu(words: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU-4 with clipped counts, a brevity penalty against the nearest length, and (c + 1) / (n + 1) for orders above one."""
    logs = 0.0
    for n in range(1, BLEU_ORDER + 1):
        grams = _grams(words, n)
        best: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            best |= _grams(reference, n)
        hits, total = sum((grams & best).values()), sum(grams.values())
        share = hits / total if n == 1 else (hits + 1) / (total + 1)
        if share == 0:
            return 0.0
        logs += np.log(share) / BLEU_ORDER
    nearest = min((abs(len(r) - len(words)), len(r)) for r in references)[1]
    penalty = min(0.0, 1 - nearest / len(words))
    return float(np.exp(logs + penalty))


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
