"""Alloy's page: the best rival of every setting and pool, means over sets, intervals, what is not run; by hand-made cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from alloykit.evaluation.significance import paired_interval
from benchmarks.alloy import (
    details_page,
    estimated_section,
    foreign_section,
    none,
    none_section,
    other_topics_section,
    outside,
    page,
    repeated_section,
    students,
    targets,
)
from benchmarks.alloy.cases import Case, Outcome, student_cases, target_cases
from benchmarks.alloy.details import ablations
from benchmarks.alloy.methods import ABLATIONS, EIGHTH, RIVAL_STUDENTS, RIVALS
from benchmarks.alloy.not_run import not_run
from benchmarks.alloy.overview import balanced_gain, by_pool, by_set, by_setting, over_sets, signed
from benchmarks.alloy.scores import bits, scores
from benchmarks.alloy.settings import CHOICE, LATER, REPORTED, in_order, set_of, settings
from benchmarks.alloy.targets_of_files import WAYS
from benchmarks.harness.results import letters
from benchmarks.harness.summary import corrected, difference

SETTINGS = {s.name: s for s in settings()}
LABELS = np.array([0, 1] * 50)
ABOUT: dict[str, Any] = {
    "commit": "abc", "environment": {"python": "3", "torch": "2", "transformers": "5", "threads": 1, "gpu": None},
}  # fmt: skip


def outcome(right: int, labels: np.ndarray[Any, Any] = LABELS) -> Outcome:
    return Outcome(np.arange(len(labels)) < right, labels)


def case(name: str, *seeds: tuple[int, int, int, int], pool: str = "disjoint") -> Case:
    """Of each seed, texts of 100 that the ensemble, energy, Alloy and oracle routing have right."""
    ways = ("ensemble", "energy", "alloy", "oracle")
    found = {s: dict(zip(ways, map(outcome, right), strict=True)) for s, right in enumerate(seeds)}
    return Case(SETTINGS[name], pool, ("ensemble", "energy"), found)


def student_cells(setting: str, pool: str, seed: int, right: dict[str, int]) -> dict[str, Any]:
    found = {m: {"answers": letters([y if i < n else 1 - y for i, y in enumerate(LABELS)])} for m, n in right.items()}
    found["teachers"] = {"labels": letters(LABELS.tolist())}
    return {f"{setting}/{pool}/{seed}/{m}": {"status": "done", **ABOUT, **cell} for m, cell in found.items()}


def target_cells(setting: str, pool: str, seed: int, right: dict[str, int], ours: dict[str, int]) -> dict[str, Any]:
    def way(n: int) -> dict[str, Any]:
        answers = torch.tensor([y if i < n else 1 - y for i, y in enumerate(LABELS)])
        found = scores(answers, torch.tensor(LABELS), each=True)
        pool_has = {"weight_on_foreign": n / 200} if pool.startswith("foreign") else {}
        return {"pool": {k: v / 2 for k, v in found.items() if k != "right"}, "test": found, **pool_has}

    about = {"labels": letters(LABELS.tolist()), "own": [0.9, 0.8], "ways": {m: way(n) for m, n in right.items()}}
    cells = {"rivals": about, **{m: way(n) for m, n in ours.items()}}
    return {f"{setting}/{pool}/{seed}/{m}": {"status": "done", **ABOUT, **cell} for m, cell in cells.items()}


def test_scores_and_bits() -> None:
    answers, labels = torch.tensor([0, 0, 1, 0, 0, 0, 0, 0, 0, 2]), torch.tensor([0, 0, 1, 1, 0, 0, 0, 0, 0, 0])
    found = scores(answers, labels, each=True)
    assert found["accuracy"] == pytest.approx(0.8)
    assert found["balanced_accuracy"] == pytest.approx((7 / 8 + 1 / 2) / 2)
    assert bits(found["right"], 10).tolist() == (answers == labels).tolist()
    assert "right" not in scores(answers, labels)


def test_a_difference_over_the_same_or_over_other_texts() -> None:
    a, b = [np.arange(50) < n for n in (30, 32, 34)], [np.arange(50) < n for n in (20, 21, 25)]
    assert difference(a, b, same_texts=True) == paired_interval(np.stack(a), np.stack(b))
    found = difference([a[0], a[1][:40], a[2]], [b[0], b[1][:40], b[2]], same_texts=False)
    each = np.array([0.2, 11 / 40, 0.18])
    half = 4.302653 * each.std(ddof=1) / np.sqrt(3)
    assert (found["low"], found["high"]) == (pytest.approx(each.mean() - half), pytest.approx(each.mean() + half))
    assert 0.01 < found["p"] < 0.05
    assert difference(a[:1], b[:1], same_texts=False) == paired_interval(a[0], b[0])
    wide = difference([np.arange(4) < 4, np.arange(4) < 0], [np.arange(4) < 0, np.arange(4) < 4], same_texts=False)
    assert (wide["low"], wide["high"]) == (-1, 1), "a difference of shares"
    assert (signed(-0.0004), signed(-0.0006), signed(0.012)) == ("+0.0", "−0.1", "+1.2")
    assert [f["p_holm"] for f in corrected([{"p": 0.02}, {"p": 0.03}])] == [0.04, 0.04]


def test_the_best_rival_is_the_best_in_the_mean_over_the_seeds() -> None:
    one = case("ag_news", (60, 70, 80, 90), (65, 50, 60, 85))
    assert (one.best, one.which) == ("ensemble", "Ensemble")
    assert one.mean("best") == pytest.approx(0.625)
    assert (one.gained, one.gap) == (pytest.approx(0.075), pytest.approx(0.25))
    assert one.less("best")["difference"] == pytest.approx(0.075)
    assert one.mean("energy", "balanced") == pytest.approx(0.6)
    assert case("ag_news", (60, 70, 80, 90)).which == "Energy"


def test_balanced_accuracy_is_compared_with_the_rival_that_is_best_in_it() -> None:
    """The ensemble has more texts right: 88 of the 90 with the first label, and none with the second. Energy has 60 and 8."""
    labels = np.array([0] * 90 + [1] * 10)
    first, second = np.arange(100) < 90, np.arange(100) >= 90
    ways = {
        "ensemble": first & (np.arange(100) < 88),
        "energy": (first & (np.arange(100) < 60)) | (second & (np.arange(100) < 98)),
        "alloy": (first & (np.arange(100) < 72)) | (second & (np.arange(100) < 96)),
    }
    one = Case(
        SETTINGS["ag_news"], "disjoint", ("ensemble", "energy"), {0: {n: Outcome(r, labels) for n, r in ways.items()}}
    )
    assert one.best == "ensemble"
    assert one.best_balanced == pytest.approx((60 / 90 + 8 / 10) / 2)
    assert balanced_gain(one) == pytest.approx((72 / 90 + 6 / 10) / 2 - (60 / 90 + 8 / 10) / 2)


def test_a_mean_over_sets_counts_every_set_once() -> None:
    found = [case("ag_news", (0, 0, 10, 20)), case("ag_news-deal1", (0, 0, 20, 20)), case("abstracts5", (0, 0, 40, 50))]
    assert over_sets(found, lambda c: c.gained) == pytest.approx((0.15 + 0.40) / 2)


def test_by_setting_and_by_pool() -> None:
    found = [
        case("ag_news", (60, 70, 80, 90)),
        case("google_snippets", (60, 65, 60, 65)),
        case("ohsumed-4", (60, 70, 80, 90)),
    ]
    lines = by_setting(found)
    assert any(
        line.startswith("| AG News | choice | Energy | 70.0 | 80.0 | 90.0 | ") and "| 50 % | +10.0 | 1 |" in line
        for line in lines
    )
    assert any(line.startswith("| Google Snippets | reported |") and "| no gap | −5.0 |" in line for line in lines)
    assert "| *mean, reported sets* |  |  | 67.5 | 70.0 | 77.5 | +2.5 | 25 % | +2.5 |  |" in lines
    assert (
        "- Sets of the choice: Alloy is on average 10.0 points above the best rival, and below it in 0 of 1 settings. Worst case: +10.0 (AG News)."
        in lines
    )
    assert any("below it in 1 of 2 settings. Worst case: −5.0 (Google Snippets)." in line for line in lines)
    pools = by_pool({"disjoint": found, "natural": [case("ag_news", (90, 70, 80, 90), pool="natural")], "shared": []})
    assert (
        "| disjoint | all sets | 3 / 3 | 68.3 | 73.3 | 81.7 | +5.0 | 38 % | 1 of 3 | −5.0 (Google Snippets) |" in pools
    )
    assert (
        "| natural | sets of the choice | 1 / 1 | 90.0 | 80.0 | 90.0 | −10.0 | no gap | 1 of 1 | −10.0 (AG News) |"
        in pools
    )
    assert not any("shared" in line for line in pools)


def test_by_set() -> None:
    """Over settings and pools; the sentence counts the cases in which Alloy is clearly below the best rival: not the last one, −0.3."""
    found = [
        case("ag_news", (60, 70, 80, 90)),
        case("ag_news", (60, 70, 100, 100), pool="natural"),
        case("google_snippets", (60, 65, 64, 65)),
        case("ohsumed-4", (60, 70, 80, 90)),
        case("stackoverflow20", (60, 65, 64, 65), (60, 65, 65, 65), (60, 65, 65, 65)),
    ]
    lines = by_set(found)
    assert "| AG News | choice | 2 | 70.0 | 90.0 | 95.0 | +20.0 | 80 % | +10.0 (AG News, pool disjoint) |" in lines
    assert (
        "| *mean, reported sets* |  | 3 | 66.7 | 69.6 | 73.3 | +2.9 | 43 % | −1.0 (Google Snippets, pool disjoint) |"
        in lines
    )
    assert lines[-4].startswith(
        "A case is a setting with one pool. 4 of the 5 cases have one seed. Alloy is on average "
    )
    assert lines[-4].endswith(
        "It is below it in 2 cases; the lowest difference is −1.0 (Google Snippets, pool disjoint)."
    )
    assert lines[-2].startswith("In 4 of 5 cases its balanced accuracy")
    assert lines[-2].endswith("at most 0.5 points below it. The others: Google Snippets, pool disjoint: −1.000.")
    assert "Alloy is on average 20.0 points above the best rival." in by_set(found[:2])[-4]
    assert by_set(found[:2])[-2].endswith("at most 0.5 points below it.")


def test_a_setting_is_there_with_the_seeds_that_are_complete() -> None:
    every, close = dict.fromkeys(RIVAL_STUDENTS, 50) | {"alloy": 60, "oracle": 70}, "stackoverflow20"
    core = {m: n for m, n in every.items() if m not in ("uhc", "muka-soft", "max_logit")}
    cells = student_cells("ohsumed-4", "disjoint", 0, every) | student_cells(close, "disjoint", 1, every)
    cells |= student_cells(close, "disjoint", 2, {m: n for m, n in every.items() if m != "uhc"})
    cells |= student_cells("ag_news", "natural", 0, core)
    found = student_cases(cells, "disjoint")
    assert [(c.setting.name, list(c.outcomes)) for c in found] == [(close, [1]), ("ohsumed-4", [0])]
    assert found[0].mean("alloy") == 0.6
    [natural] = student_cases(cells, "natural")
    assert natural.rivals == ["vanilla_kd", "energy"]
    core = core | {"alloy": 65}
    varied = student_cells("google_snippets-deal1", "disjoint", 0, core)
    [dealt] = student_cases(varied, "disjoint")
    assert dealt.mean("alloy") == 0.65
    assert (dealt.setting.name, dealt.rivals) == ("google_snippets-deal1", ["vanilla_kd", "energy"])
    foreign = student_cells("google_snippets", "foreign50", 0, core)
    foreign |= student_cells("google_snippets", "foreign50", 1, core)
    [several] = student_cases(foreign, "foreign50")
    assert list(several.outcomes) == [0, 1], "the seeds of this table"


def test_variants_are_compared_in_the_cases_that_have_them() -> None:
    variant = next(iter(ABLATIONS))
    rivals = dict.fromkeys([*RIVALS, "gate", "oracle"], 60)
    cells = target_cells("ag_news", "disjoint", 0, rivals, {"alloy": 70, variant: 65})
    cells |= target_cells("abstracts5", "disjoint", 0, rivals, {"alloy": 70})
    lines = ablations({"disjoint": target_cases(cells, "disjoint")}, [variant])
    assert f"| disjoint | {variant} | sets of the choice | 1 | 70.0 | 65.0 | −5.0 (AG News) | −5.0 (AG News) |" in lines


def test_the_page_is_written_from_any_part_of_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = dict.fromkeys([*RIVALS, "gate", "oracle"], 60)
    ours = dict.fromkeys(["alloy", *ABLATIONS], 70)
    cells = {
        "students": student_cells(
            "ag_news", "foreign50", 0, {"alloy": 55, "vanilla_kd": 35, "energy": 45, "oracle": 65, EIGHTH: 50}
        )
        | student_cells("ag_news-barely", "disjoint", 0, {"alloy": 54, "vanilla_kd": 34, "energy": 44, "oracle": 64})
        | student_cells(
            "stackoverflow20", "skew5-first", 1, {"alloy": 53, "vanilla_kd": 33, "energy": 43, "oracle": 63}
        ),
        targets.TABLE.name: {},
        "few": {},
        "more_targets": target_cells("abstracts5-deal2", "disjoint", 0, rivals, {"alloy": 65}),
        "in_common": target_cells("ag_news-nested", "disjoint", 0, rivals, {"alloy": 45}),
        "catch_all": target_cells("ag_news-other-catch_all", "disjoint", 0, rivals, {"alloy": 48}),
        "unequal": target_cells("ag_news-noisy-first", "disjoint", 0, rivals, {"alloy": 47}),
        "unequal_students": student_cells(
            "stackoverflow20-few-first", "disjoint", 0, dict.fromkeys(RIVAL_STUDENTS, 42) | {"alloy": 58, "oracle": 68}
        ),
        "six_layers": target_cells("ag_news-six", "disjoint", 0, rivals, {"alloy": 75}),
        "across": target_cells("two_sets_cut", "disjoint", 0, rivals, {"alloy": 85, "by_energy": 77}),
        "outside": student_cells(
            "genres-2-deal1", "disjoint", 0, dict.fromkeys(RIVAL_STUDENTS, 47) | {"alloy": 57, "uhc": 49, "oracle": 67}
        ),
        "outside_targets": target_cells("bbc_news-2-deal3", "disjoint", 0, rivals, {"alloy": 72, "by_energy": 66}),
        "across_students": student_cells(
            "two_sets_cut", "disjoint", 0, {"alloy": 56, "vanilla_kd": 36, "energy": 46, "oracle": 66}
        ),
    }
    for pool in ("disjoint", "foreign50"):
        known = {m: n for m, n in rivals.items() if m != "muka-soft" or pool == "disjoint"}
        cells["targets"] |= target_cells("google_snippets", pool, 0, known, ours)
    cells["targets"]["ag_news/disjoint/0/alloy"] = {"status": "failed", "error": "it broke"}
    cells["none"] = {
        f"{none.TABLE.settings[0].name}/{pool}/0/alloy": ABOUT | {"status": "done", "auroc": {
            name: {"foreign": 0.1 * n, "held_out": 0.1 * n + 0.05}
            for n, name in enumerate([*none_section.SCORES, *none_section.TRIED])
        }, "unusual": {"test": 0.05, "foreign": 0.5, "held_out": 0.25}}
        for pool in ("disjoint", "foreign10")
    }  # fmt: skip
    for module in (page, details_page, estimated_section, none_section):
        monkeypatch.setattr(module, "cells_of", lambda table: cells[table.name])
    for module in (page, details_page, foreign_section, other_topics_section, repeated_section):
        monkeypatch.setattr(module, "measured", lambda *_: None)
    monkeypatch.setattr(page, "write_atomic", lambda path, text: (tmp_path / path.name).write_text(text, "utf-8"))
    estimate = {"estimated": {"accuracy": 0.8, "estimate": 0.7, "confidence": 0.95, "labels": [[0.5, 0.75, 1.0]]}}
    cells["more_targets"]["abstracts5-deal2/disjoint/0/alloy"] |= estimate
    cells["outside_targets"]["bbc_news-2-deal3/disjoint/0/alloy"] |= {
        "estimated": estimate["estimated"] | {"estimate": 0.75}
    }
    page.write()
    short, text = ((tmp_path / f"{name}.md").read_text("utf-8") for name in ("alloy", "alloy_details"))

    assert "| StackOverflow | reported | 1 | 43.0 | 53.0 | 63.0 |" in short
    assert (
        "| Genres | later | 1 | 49.0 | 57.0 | 67.0 | +8.0 | 44 % | +8.0 (Genres, 2 teachers, deal 1, pool disjoint) |"
        in short
    )
    assert "| *mean, later sets* |  | 1 | 49.0 | 57.0 | 67.0 |" in short
    assert "| *mean, all sets* |  | 4 | 45.5 | 54.8 |" in short
    assert "| foreign50 | sets of the choice | 1 / 1 | 45.0 | 55.0 | 65.0 | +10.0 | 50 % |" in short
    assert "| disjoint | sets of the choice | 1 / 1 | 44.0 | 54.0 |" in short
    assert "| skew5-first | reported sets | 1 / 1 | 43.0 | 53.0 |" in short
    assert "| disjoint | reported sets | 1 / 1 | 60.0 | 70.0 |" in short[short.index("## Targets, all pools") :]
    variant = "−5.0 (lowest −5.0; 1 setting)"
    assert f"| Alloy, `own_labels: 0` | students | – | {variant} |" in short
    assert f"| {next(iter(ABLATIONS))} | targets | +0.0 (lowest +0.0; 1 setting) |" in short
    assert (
        "| labels dealt again, overlapping or uneven | 1 | 80.0 | 70.0 | **10.0** | 95.0 | 15.0 | **25.0** | 50.0 |"
        in short
    )
    assert "| later sets | 1 | 80.0 | 75.0 | **5.0** |" in short
    assert "| foreign10 | 1 | 0.000 | 0.100 | 0.200 | 0.050 | 0.150 | 0.250 |" in short
    order = ["## Students by set,", "## What the words mean", "## Students by setting", "## Students, all pools", "## Variants",
             "## What was tried and dropped", "## Few labels", "## Estimated accuracy", "## None of these", "## Time", "## How to read"]  # fmt: skip
    assert sorted(order, key=short.index) == order

    assert "| AG News | choice |" in text
    assert "| Google Snippets | reported |" in text
    assert "share of the weight on foreign texts" in text
    assert "| Google Snippets | 90, 80 |" in text
    assert "- failed: ag_news/disjoint/0/alloy: it broke" in text
    assert "- seed 1, natural: all" in text
    dealt = "| 5Abstracts, deal 2 | choice | Ensemble | 60.0 | 65.0 | 60.0 |"
    assert dealt in text[text.index("## Targets by setting") : text.index("## Targets in detail")]
    common = text.index("## Teachers with many labels in common")
    assert dealt in text[text.index("## Targets in float32") : common]
    nested = "| AG News, all labels and half of them | choice | Ensemble | 60.0 | 45.0 | 60.0 |"
    assert nested in text[common : text.index("## Teachers of unequal quality")]
    noisy = "| AG News, first teacher of noisy labels | choice | Ensemble | 60.0 | 47.0 | 60.0 |"
    unequal = text[text.index("## Teachers of unequal quality") : text.index("## Teachers of six layers")]
    assert noisy in unequal
    few = "| StackOverflow, first teacher of few texts | 58.0 / 58.0 (1 seed) | 42.0 / 42.0 (1 seed) |"
    assert few in unequal[unequal.index("quality: students") :]
    deeper = text[text.index("## Teachers of six layers") :]
    assert "| AG News | choice | Ensemble | 60.0 | 75.0 | 60.0 |" in deeper
    across = text[
        text.index("## Teachers of different data sets: students") : text.index("## Where the mixture is not used")
    ]
    later = text[text.index("## Later sets") : text.index("## Teachers of different data sets")]
    assert "| Genres, 2 teachers, deal 1 | later | UHC | 49.0 | 57.0 | 67.0 |" in later
    assert "| Genres, 2 teachers, deal 1 | 57.0 / 57.0 (1 seed) | 47.0 / 47.0 (1 seed) |" in later
    bbc = "| BBC News, 2 teachers, deal 3 |"
    assert f"{bbc} later | Ensemble | 60.0 | 72.0 | 60.0 |" in later[later.index("Later sets: targets") :]
    title = "AG News and StackOverflow, two teachers each"
    assert f"| {title} | choice | Energy | 46.0 | 56.0 | 66.0 |" in across
    assert f"| {title} | choice | Ensemble | 60.0 | 85.0 | 60.0 |" in across
    unused = text[text.index("## Where the mixture is not used") :]
    assert f"| {title} | 60.0 | 60.0 | 77.0 |\n| *mean* | 60.0 | 60.0 | 77.0 |\n{bbc} 60.0 | 60.0 | 66.0 |" in unused
    assert "| *mean, later sets* | 60.0 | 60.0 | 66.0 |" in unused
    more = text[text.index("## Students in detail") : text.index("## Without the teachers' own labels")]
    assert "| AG News | 55.0 / 55.0 (1 seed) | 35.0 / 35.0 (1 seed) |" in more
    assert "| AG News, barely trained | 54.0 / 54.0 (1 seed) |" in more
    alone = "| foreign50 | Alloy, `own_labels: 0` | sets of the choice | 1 | 55.0 | 50.0 | −5.0 (AG News) | −5.0 (AG News) |"
    assert alone in text
    assert "| 5Abstracts, deal 2 | disjoint | 1 | 80.0 | 70.0 | **10.0** | 95.0 | 15.0 | **25.0** | 50.0 |" in text
    order = ["## How to read", "## Students in detail", "## Without the teachers' own labels",
             "## Targets in detail", "## Variants", "## None of these", "## Estimated accuracy", "## Not run yet"]  # fmt: skip
    assert sorted(order, key=text.index) == order

    cells |= {name: {} for name in cells}
    page.write()
    for name in ("alloy", "alloy_details"):
        assert "| AG News" not in (tmp_path / f"{name}.md").read_text("utf-8")


def test_sets_of_other_tables_are_listed_last() -> None:
    later = outside.TABLE.settings
    order = [set_of(setting) for setting in in_order([*later, SETTINGS["thucnews_titles"], SETTINGS["ag_news"]])]
    assert list(dict.fromkeys(order)) == ["ag_news", "thucnews_titles", *outside.TEACHERS]


def test_none_of_these_in_the_mean_over_the_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set with two seeds counts as much as one with one."""
    one, other = (s.name for s in none.TABLE.settings[:2])
    scores = {f"{one}/disjoint/0": 0.5, f"{one}/disjoint/1": 0.7, f"{other}/disjoint/0": 0.9}
    cells = {
        f"{key}/alloy": {
            "status": "done",
            "auroc": {score: {"foreign": n, "held_out": n} for score in none_section.SCORES},
        }
        for key, n in scores.items()
    }
    monkeypatch.setattr(none_section, "cells_of", lambda table: cells)
    assert "| disjoint | 2 |" + 6 * " 0.750 |" in none_section.none_means()


def measurement(pools: list[dict[str, Any]]) -> dict[str, Any]:
    machine = {"processor": "a", "threads": 1, "gpu": None, "torch": "2"}
    return {"figures": {"pools": pools}, "command": "c", "seconds": 1, "commit": "d", "machine": machine}


def test_pools_of_other_topics_and_how_often_alloy_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = {"alloy": 0.5, "by_energy": 0.6, "ensemble": 0.55, "energy": 0.58}
    pool = {"title": "AG News", "choice": True, "texts": 1500, "accuracy": accuracy, "used": True}
    figures = [
        pool | {"source": "own", "label_agreement": 0.81, "teacher_agreement": 0.75, "warned": False},
        pool | {"source": "sst2", "label_agreement": 0.22, "teacher_agreement": -0.07, "warned": True},
        pool
        | {"source": "wiki_sentences", "label_agreement": 0.6, "teacher_agreement": 0.5, "warned": False, "used": True},
    ]
    of_students = pool | {"accuracy": {"alloy": 0.613, "vanilla_kd": 0.61, "uhc": 0.6}, "used": False}
    both = {
        "other_topics": measurement(figures),
        "other_topics_students": measurement([of_students | figures[1] | of_students]),
    }
    monkeypatch.setattr(other_topics_section, "measured", lambda _, name: both[name])
    text = "\n".join(other_topics_section.other_topics_section())
    assert "| AG News | choice | SST-2 | 0.22 | −0.07 | no | 61.3 | 61.0 | 60.0 |" in text
    assert "| AG News | choice | SST-2 | 1,500 | 0.22 | −0.07 | warning | 50.0 | 60.0 | 55.0 | 58.0 |" in text
    assert "Alloy warns in 1 of 2 pools of other topics, and in 0 of 1 pools of the set's own texts." in text


def test_pools_in_which_texts_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = {"title": "AG News", "choice": True, "used": True, "texts": 1500, "left_out": 0, "fitted_to": 1500}
    own = {"kind": "own", "share": 0.0, "times": 1, "accuracy": dict(zip(WAYS, (0.8, 0.6, 0.5, 0.55), strict=True))}
    more = {"kind": "word for word", "share": 0.002, "times": 1000, "texts": 4497, "left_out": 2991, "fitted_to": 1506}
    figures = [pool | own] + [
        pool | more | {"accuracy": dict(zip(WAYS, of, strict=True))}
        for of in ((0.7, 0.6, 0.5, 0.5), (0.8, 0.6, 0.5, 0.6))
    ]
    monkeypatch.setattr(repeated_section, "measured", lambda *_: measurement(figures))
    cells = {"a": {"status": "failed"}, "b": {"repeats": 0.0}, "c": {"repeats": 4.0}, "d": {"repeats": 0.0}}
    monkeypatch.setattr(repeated_section, "cells_of", lambda _: cells)
    text = "\n".join(repeated_section.repeated_section())
    assert "| AG News | choice | nothing | 1,500 | 0 of 1,500 | 80.0 | 60.0 | 50.0 | 55.0 |" in text
    assert "| 0.2 % of the texts 1,000 times, word for word | 4,497 | 2,991 of 4,497 | 70.0 |" in text
    assert "| *mean, with repeated texts* |  |  |  |  | 75.0 | 60.0 | 50.0 | 55.0 |" in text
    assert (
        "In 3 pools of [later sets](#later-sets-targets), to which no text was added, texts are left out in 1, 4 at most (`python -m benchmarks alloy outside_targets`)."
        in text
    )


def test_what_is_not_run_stands_in_few_lines() -> None:
    table = students.TABLE
    assert not_run(table, {}) == [f"`python -m benchmarks alloy students`: all {len(list(table.cells())):,} cells.", ""]
    every = {cell.key: {"status": "done"} for cell in table.cells()}
    assert not_run(table, every) == ["`python -m benchmarks alloy students`: complete.", ""]
    gone = [*(k for k in every if k.startswith("ag_news/disjoint/0/")), "ohsumed-4/disjoint/0/energy"]
    lines = not_run(table, {k: v for k, v in every.items() if k not in gone})
    assert "- seed 0, disjoint: all of ag_news; ohsumed-4 (energy)" in lines
    assert len(lines) == 4


def test_settings_come_in_rounds_and_belong_to_one_group() -> None:
    assert not set(CHOICE) & set(REPORTED)
    assert {set_of(s) for s in outside.TABLE.settings} == set(LATER)
    assert {set_of(s) for s in SETTINGS.values()} == {*CHOICE, *REPORTED}
    names = list(SETTINGS)
    assert names.index("thucnews_titles") < names.index("ag_news-deal1") < names.index("ag_news-deal2")
    assert len(names) == len(settings()) == 9 + 9 + 9 + 8 + 2 + 2
    told = [set_of(s) for s in in_order(settings())]
    assert told == sorted(told, key=[*CHOICE, *REPORTED].index)
    for table in (students.TABLE, targets.TABLE):
        cells = list(table.cells())
        assert [c.seed for c in cells] == sorted(c.seed for c in cells)
