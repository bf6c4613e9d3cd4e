"""Table 1 and a part of Table 4 with all training texts and the paper's training settings. For a GPU: MPNet-base stands in the place of BERT-base."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.profiles import FETCHED, SMALL
from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.muka.methods import BASELINES, MUKA, TEACHERS, Methods
from benchmarks.muka.paper import PROFILE
from benchmarks.muka.table1 import PAPER as TABLE_1

METHODS: Methods = {
    **TEACHERS,
    "routing-soft": {"name": "routing", "of": {"name": "muka", "mode": "soft"}},
    **BASELINES,
    **MUKA,
    "alloy": {"name": "alloy"},
    "supervised": {"name": "supervised"},
}
CORE = tuple(m for m in METHODS if m not in ("dfa", "cfl"))  # those two read the teachers' states in every step
RATE = SMALL.student["learning_rate"]  # of models of MiniLM's width; that of MPNet-base is the paper's
FULL = replace(
    PROFILE,
    name="full",
    encoders={
        "english": {"model": "bundled:minilm", "learning_rate": RATE},
        "mpnet": {"model": f"{FETCHED}mpnet"},
        "chinese": SMALL.encoders["chinese"],
    },
)
BASE_SIZE = tuple(
    split(name, 2, "mpnet", name=f"{name}-mpnet", title=f"{title}, MPNet-base")
    for name, title in (("google_snippets", "Google Snippets"), ("abstracts5", "5Abstracts"), ("ag_news", "AG News"))
)
SIX_LAYERS = (
    split("google_snippets", 2),
    split("abstracts5", 2),
    split("thucnews_titles", 2, "chinese"),
    split("ag_news", 2),
)
MIXED = split(
    "google_snippets",
    2,
    ("english", "mpnet"),
    name="google_snippets-mixed",
    title="Google Snippets: MiniLM-6, MPNet-base",
)
PAPER = {
    method: {f"{name}-mpnet": value for name, value in of.items()} for method, of in TABLE_1.items()
}  # of BERT-base
TABLE = Table(
    "muka",
    "full",
    "Tables 1 and 4 with all training texts",
    (*BASE_SIZE, *SIX_LAYERS, MIXED),
    {"shared": tuple(METHODS)},
    METHODS,
    only={s.name: CORE for s in (*BASE_SIZE[1:], *SIX_LAYERS, MIXED)},
    seeds={s.name: (0,) for s in (*BASE_SIZE[1:], SIX_LAYERS[-1])},
    seed_by_seed=True,
    precision="bfloat16",
    profile=FULL,
)
