"""RoBERTa for English with a byte-level BPE vocabulary, on general text: news of other agencies, novels, Wikipedia."""

from benchmarks.encoders.run import EncoderRun
from benchmarks.encoders.train import Plan

PLAN = Plan("bpe", {"wikitext2": None, "english_misc": 40_000, "wiki_sentences": 40_000}, 8000, epochs=0.4, bpe=True)
TABLE = EncoderRun(PLAN, "RoBERTa, 3 layers of 192, byte-level BPE, general English", ("ag_news",))
