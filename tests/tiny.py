"""The tiny models of alloykit.testing, under the name by which the tests call them."""

from alloykit.testing.tiny import SIZES, WORDS, classifier, encoder, language_model, texts, tokenizer

__all__ = ["SIZES", "WORDS", "classifier", "encoder", "language_model", "texts", "tokenizer"]
