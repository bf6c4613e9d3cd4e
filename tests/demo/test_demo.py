"""The embedded messages keep their promises, and the demo's words follow its numbers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from alloykit.demo.run import TEAMS, demo, explanation, messages, recipe_values, shuffled, write_csv
from alloykit.errors import AlloyError
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def test_messages_are_many_distinct_and_never_in_both_parts() -> None:
    train, test = messages("train"), messages("test")
    assert len(train) + len(test) >= 1200
    texts = [plain(m["text"]) for m in [*train, *test]]
    assert all(texts)
    assert len(set(texts)) == len(texts)


def test_intents_belong_to_three_teams_of_unequal_size() -> None:
    owners = {}
    for part in ("train", "test"):
        for m in messages(part):
            assert owners.setdefault(m["label"], m["team"]) == m["team"]
        counts = Counter(m["label"] for m in messages(part))
        assert min(counts.values()) >= 30, counts
        assert set(counts) == set(owners)
    assert len(owners) >= 10
    sizes = Counter(owners.values())
    assert set(sizes) == set(TEAMS)
    assert len(set(sizes.values())) == 3


def test_words_do_not_give_the_intents_away() -> None:
    """No template: within an intent, hardly any four-word opening returns."""
    for label in {m["label"] for m in messages("train")}:
        openings = Counter(" ".join(plain(m["text"]).split()[:4]) for m in messages("train") if m["label"] == label)
        assert max(openings.values()) <= 3


def test_shuffling_is_always_the_same_and_mixes() -> None:
    rows = messages("train")
    assert shuffled(rows) == shuffled(rows)
    assert sorted(m["text"] for m in shuffled(rows)) == sorted(m["text"] for m in rows)
    assert len({m["label"] for m in shuffled(rows)[:40]}) > 6


def test_recipe_is_valid_and_shows_what_runs(tmp_path: Path) -> None:
    recipe = parse(recipe_values(tmp_path, tmp_path / "texts.csv", tmp_path / "test.csv"), Recipe)
    assert recipe.method["name"] == "alloy"
    assert [Path(t.model).name for t in recipe.teachers] == list(TEAMS)


def test_csv_is_written_the_same_twice(tmp_path: Path) -> None:
    rows = [{"text": 'a "quoted", text', "label": "x"}, {"text": "two\nlines", "label": "y"}]
    write_csv(tmp_path / "a.csv", rows)
    first = (tmp_path / "a.csv").read_bytes()
    write_csv(tmp_path / "a.csv", rows)
    assert (tmp_path / "a.csv").read_bytes() == first
    assert b'"a ""quoted"", text"' in first


@pytest.mark.parametrize(("student", "says"), [(0.7, "10.0 points more"), (0.5, "10.0 points less")])
def test_explanation_says_which_way_it_went(student: float, says: str) -> None:
    accuracy = {"teacher a": 0.3, "teacher b": 0.4, "ensemble": 0.6, "routing": 0.65, "student": student}
    text = explanation({name: {"accuracy": a} for name, a in accuracy.items()})
    assert "best single teacher b: 40.0 %" in text
    assert says in text


def test_an_output_in_the_way_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(AlloyError, match="a folder as `output`"):
        demo(tmp_path / "taken" / "demo")
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_folder_with_other_files_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "messages.csv").write_text("mine")
    with pytest.raises(AlloyError, match="with other files"):
        demo(tmp_path)
    assert (tmp_path / "data" / "messages.csv").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
