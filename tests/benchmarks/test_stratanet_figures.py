"""StrataNet's Figs. 4 and 5: a setting's own way of generating, and pages whose points come from two tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alloykit.json_files import write_json
from alloykit.run_folder.file_names import SUMMARY
from benchmarks.harness import plots
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.stages import Stages
from benchmarks.stratanet import fig4, fig5, figures, table3
from benchmarks.stratanet.written import SHOWN, written


@pytest.fixture(autouse=True)
def figures_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plots, "RESULTS", tmp_path)
    (tmp_path / "stratanet").mkdir()
    return tmp_path / "stratanet"


def student(accuracy: float) -> dict[str, Any]:
    return {"status": "done", "accuracy": accuracy}


def test_prompted_texts_are_the_same_generator_s_but_for_what_is_asked(tmp_path: Path) -> None:
    by_name = {s.name: s for s in fig5.SETTINGS}
    table = dict(fig5.TABLE.generation)
    made = {n: Stages(tmp_path, tmp_path, s, SMALL, 0, generation=table) for n, s in by_name.items()}
    asked = made["abstracts5-prompted"].generation
    assert asked["prompt"] == "Generate an abstract about {label}:"
    assert asked["steer"] == "prompt"
    assert asked["max_tokens"] == table["max_tokens"]
    steered = Stages(tmp_path, tmp_path, table3.SETTINGS[0], SMALL, 0, generation=table)
    assert made["ag_news-alone"].generation == steered.generation | {"steer": "none"}
    assert made["ag_news-alone"].shared == steered.shared  # its teachers and their knowledge
    assert len({s._written for s in made.values()} | {steered._written}) == len(made) + 1
    described = fig5.TABLE.configuration()["settings"]
    assert described["ag_news-alone"]["generation"] == {"steer": "none"}
    assert "generation" not in table3.TABLE.configuration()["settings"]["ag_news"]


def test_quality_is_the_mean_over_teachers(tmp_path: Path) -> None:
    teachers = {"teacher1": dict.fromkeys(SHOWN, 1.0), "teacher2": dict.fromkeys(SHOWN, 2.0)}
    write_json(tmp_path / SUMMARY, {"teachers": teachers})
    stages: Any = type("Stages", (), {"generated": lambda self: tmp_path})()
    assert written(stages, "generated") == dict.fromkeys(SHOWN, 1.5)


def test_steered_texts_stand_beside_prompted_ones(monkeypatch: pytest.MonkeyPatch, figures_in: Path) -> None:
    quality = {"status": "done", "control": 0.25, "distinct_2": 0.875, "self_bleu": 0.125, "perplexity": 99.6}
    steered = {f"ag_news/generated/{seed}/stratanet": student(a) for seed, a in enumerate((0.5, 0.7, 0.9))}
    monkeypatch.setattr(figures, "cells_of", lambda table: steered if table is table3.TABLE else {})
    cells = {"ag_news-prompted/generated/0/vanilla_kd": student(0.4), "ag_news-prompted/generated/0/written": quality}
    lines = figures.prompted(fig5.TABLE, cells)
    assert "| AG News: steered | not run | – | – | – | 60.0 ± 14.1 | not run |" in lines
    assert "| AG News: prompted | 25.0 (1 seed) | 0.88 | 0.12 | 100 | not run | 40.0 (1 seed) |" in lines
    assert len([line for line in lines if line.startswith(("| AG News", "| 5Abstracts"))]) == 8
    assert (figures_in / "fig5.svg").exists()


def test_the_default_s_point_of_fig_4_is_table_3_s(monkeypatch: pytest.MonkeyPatch, figures_in: Path) -> None:
    of_table3 = {f"ag_news/generated/{seed}/stratanet": student(a) for seed, a in enumerate((0.75, 0.75, 0.9))}
    monkeypatch.setattr(figures, "cells_of", lambda _: of_table3)
    cells = {f"ag_news/generated/{seed}/stratanet-0.3": student(0.25) for seed in range(2)}
    lines = figures.fig4(fig4.TABLE, cells)
    assert "| AG News | not run | 25.0 ± 0.0 | not run | 75.0 ± 0.0 | not run |" in lines
    first = (figures_in / "fig4.svg").read_bytes()
    figures.fig4(fig4.TABLE, cells)
    assert (figures_in / "fig4.svg").read_bytes() == first
