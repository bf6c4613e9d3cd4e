"""Whether the models that read the texts besides the teachers probably know their language: the student, and the encoder of the texts' states."""

from __future__ import annotations

from collections.abc import Iterable

from alloykit.blocks import ModelSpec
from alloykit.data import Texts
from alloykit.evaluation.tokenizer_statistics import language_doubt, tokenizer_statistics
from alloykit.models.loading import load_tokenizer
from alloykit.models.tokens import encode_untruncated

READ = 500  # texts, the first ones
LOOKED_INTO = 5_000  # characters of each of them
WHOLE = 1_000_000  # a number of tokens that no text has: what is read of a text does not matter here


def language_warnings(student: ModelSpec | None, encoder: ModelSpec | None, texts: Texts) -> list[str]:
    """One sentence for each of the two models whose tokenizer hardly knows the words of the texts. The encoder is left out if it is the student's."""
    table = texts.table.select(range(min(READ, len(texts))))
    columns: Iterable[str] = ("text", "text_pair") if texts.is_pair else ("text",)
    shown = [text[:LOOKED_INTO] for column in columns for text in table[column] if text]
    found = []
    same = student is not None and encoder is not None and student.model == encoder.model
    for spec, of_whom, setting in (
        (student, "the student begins as", "student: {model: …}"),
        (None if same else encoder, "the encoder of the texts' states is", "method: {encoder: …}"),
    ):
        if spec is None or not shown:
            continue
        tokenizer = load_tokenizer(spec)
        ids = list(encode_untruncated(tokenizer, shown))
        doubt = language_doubt(tokenizer_statistics(ids, shown, tokenizer, WHOLE))
        if doubt is not None:
            found.append(
                f"{of_whom} '{spec.model}', which {doubt}. Probably it does not know their language. Name a model that knows the language of the texts: `{setting}`."
            )
    return found
