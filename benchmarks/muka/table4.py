"""Table 4: teachers of other depth, width, architecture and tokenizer. The student is the first teacher's size."""

from __future__ import annotations

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.muka.methods import BASELINES, MUKA, TEACHERS, Methods
from benchmarks.muka.paper import stated

METHODS: Methods = TEACHERS | BASELINES | MUKA
PAPER = {  # BERT-base and BERT-large: the nearest of ours are the first and the last column
    "teacher1": {"depth": (49.7, 0.0), "chinese-depth": (48.8, 0.0)},
    "teacher2": {"depth": (47.2, 0.0), "chinese-depth": (49.8, 0.0)},
    "ensemble": {"depth": (76.6, 0.0), "chinese-depth": (79.3, 0.0)},
    "vanilla_kd": {"depth": (79.6, 0.22), "chinese-depth": (82.9, 1.36)},
    "dfa": {"depth": (78.2, 0.30), "chinese-depth": (84.7, 1.74)},
    "cfl": {"depth": (75.9, 0.63), "chinese-depth": (81.9, 1.37)},
    "uhc": {"depth": (78.3, 2.65), "chinese-depth": (92.3, 1.08)},
    "muka-hard": {"depth": (78.3, 1.58), "chinese-depth": (95.4, 0.45)},
    "muka-soft": {"depth": (80.6, 0.17), "chinese-depth": (95.4, 0.29)},
}
SETTINGS = (
    split("ag_news", 2, ("english", "english-large"), name="depth", title="AG News: MiniLM-3, MiniLM-6"),
    split("ag_news", 2, ("english", "english-bpe"), name="architecture", title="AG News: MiniLM-3, RoBERTa with BPE"),
    split("ag_news", 2, ("english", "mpnet"), name="mpnet", title="AG News: MiniLM-3, MPNet-base"),
    split(
        "thucnews_titles", 2, ("chinese", "chinese-other"), name="chinese-depth", title="THUCNews: 3 layers, 2 layers"
    ),
)
TABLE = Table(
    "muka",
    "table4",
    "Table 4: heterogeneous teachers",
    SETTINGS,
    {"shared": tuple(METHODS)},
    METHODS,
    texts=1000,
    test=500,
    seeds={"mpnet": (0,)},  # its teacher has 109 M parameters: half an hour of one core
    stated=stated(METHODS),
)
