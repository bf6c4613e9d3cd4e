"""Table 5: teachers of different data sets, and of different languages.

AG News and Google Snippets both have labels Business and Sports. "merged" joins them by name; "apart" has them twice.
"""

from __future__ import annotations

from benchmarks.harness.sets import AG_NEWS, SNIPPETS, THUCNEWS
from benchmarks.harness.settings import Setting, TeacherPlan
from benchmarks.harness.table import Table
from benchmarks.muka.methods import BASELINES, MUKA, TEACHERS, Methods
from benchmarks.muka.paper import stated

METHODS: Methods = TEACHERS | BASELINES | MUKA
PAPER = {
    "teacher1": {"merged": (26.8, 0.0), "languages": (0.50, 0.0)},
    "teacher2": {"merged": (63.0, 0.0), "languages": (54.6, 0.0)},
    "ensemble": {"merged": (74.3, 0.0), "languages": (54.5, 0.0)},
    "vanilla_kd": {"merged": (75.1, 0.58), "languages": (54.6, 0.05)},
    "dfa": {"merged": (74.7, 0.30), "languages": (54.1, 0.20)},
    "cfl": {"merged": (74.0, 0.50), "languages": (54.3, 0.65)},
    "uhc": {"merged": (72.0, 0.73), "languages": (53.5, 0.17)},
    "muka-hard": {"merged": (76.3, 0.54), "languages": (68.1, 0.20)},
    "muka-soft": {"merged": (75.9, 0.47), "languages": (65.6, 0.40)},
}
_NEWS_AND_SNIPPETS = (TeacherPlan("ag_news", AG_NEWS.labels), TeacherPlan("google_snippets", SNIPPETS.labels))
_LANGUAGES = tuple(TeacherPlan(s.name, s.labels, "multilingual") for s in (AG_NEWS, THUCNEWS))
SETTINGS = (
    Setting("merged", "AG News + Google Snippets, equal names merged", _NEWS_AND_SNIPPETS),
    Setting("apart", "the same, equal names kept apart", _NEWS_AND_SNIPPETS, keep_apart=True, teachers_of="merged"),
    Setting("languages", "AG News (en) + THUCNews titles (zh)", _LANGUAGES, student="multilingual"),
)
TABLE = Table(
    "muka", "table5", "Table 5: across data sets and languages", SETTINGS, {"shared": tuple(METHODS)}, METHODS,
    only={"apart": (*TEACHERS, "vanilla_kd", *MUKA)},
    texts=750, test=500,  # of each data set: as many in all as elsewhere,
    stated=stated(METHODS),
)  # fmt: skip
