"""BERT for Chinese, on THUCNews titles."""

from benchmarks.encoders.run import EncoderRun
from benchmarks.encoders.train import Plan

PLAN = Plan("chinese", {"thucnews_titles": None}, vocabulary=8000, epochs=2)
TABLE = EncoderRun(PLAN, "BERT, 3 layers of 192, WordPiece, THUCNews titles", ("thucnews_titles",))
