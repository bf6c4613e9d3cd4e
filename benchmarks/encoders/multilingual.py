"""BERT for English and Chinese with one vocabulary, on Wikipedia sentences and THUCNews titles."""

from benchmarks.encoders.run import EncoderRun
from benchmarks.encoders.train import Plan

PLAN = Plan("multilingual", {"thucnews_titles": None, "wiki_sentences": 50_000}, vocabulary=14_000, epochs=1)
TABLE = EncoderRun(
    PLAN, "BERT, 3 layers of 192, WordPiece, English Wikipedia and THUCNews titles", ("thucnews_titles", "ag_news")
)
