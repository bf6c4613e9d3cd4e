"""A student, or an encoder of the texts' states, that does not know the language of the texts."""

from __future__ import annotations

import pytest

from alloykit.blocks import ModelSpec
from alloykit.data import load_texts
from alloykit.reporting.next_steps import instructions
from alloykit.stages import languages
from alloykit.stages.languages import language_warnings

ENGLISH = ["Where is my parcel? It should have come last week.", "The team won the match after a long second half."]
SLOVENE = [
    "Včeraj sem napisal komentar o tekmi, pa ga ponovim.",
    "Razlika med njima je v tem, da nikoli ne bo udejanjil.",
]
STUDENT = ModelSpec(model="a/student")
OTHER = ModelSpec(model="an/encoder")


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model has a tokenizer that knows the words of the English texts, and the letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted({c for text in (*ENGLISH, *SLOVENE) for c in text if not c.isspace()})
    words = sorted({w for text in ENGLISH for w in text.replace("?", " ").replace(".", " ").split()})
    pieces = dict.fromkeys(["[UNK]", *words, *letters, *(f"##{c}" for c in letters)])
    backend = Tokenizer(models.WordPiece({w: i for i, w in enumerate(pieces)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")
    monkeypatch.setattr(languages, "load_tokenizer", lambda spec: tokenizer)


def test_texts_of_a_language_that_the_models_know() -> None:
    assert language_warnings(STUDENT, OTHER, load_texts(ENGLISH)) == []
    assert language_warnings(None, None, load_texts(SLOVENE)) == []


def test_texts_of_another_language() -> None:
    (of_student,) = language_warnings(STUDENT, STUDENT, load_texts(SLOVENE))
    assert of_student.startswith("the student begins as 'a/student', which splits a word of the texts into ")
    assert instructions(of_student) == ["Name a model that knows the language of the texts: `student: {model: …}`."]
    (of_encoder,) = language_warnings(None, OTHER, load_texts(SLOVENE))
    assert of_encoder.startswith("the encoder of the texts' states is 'an/encoder', which splits")
    assert "`method: {encoder: …}`" in of_encoder
    assert len(language_warnings(STUDENT, OTHER, load_texts(SLOVENE))) == 2


def test_both_texts_of_a_pair_are_read() -> None:
    assert language_warnings(STUDENT, None, load_texts(list(zip(ENGLISH, ENGLISH, strict=True)))) == []
    assert len(language_warnings(STUDENT, None, load_texts(list(zip(ENGLISH[:1] * 2, SLOVENE, strict=True))))) == 1
