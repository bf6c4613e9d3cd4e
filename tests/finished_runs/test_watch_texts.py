"""`watch`: new texts beside the pool, in words and pictures."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import toy
from commandline import Call, Finished, collect, write_csv

import alloykit
from alloykit.errors import AlloyError
from alloykit.evaluation.drift import as_json
from alloykit.evaluation.significance import wilson
from alloykit.finished_runs import watch_texts
from alloykit.serving.predictor import Predictor


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    shutil.copytree(finished.folder, tmp_path / "run", copy_function=shutil.copy2)
    return tmp_path / "run"


def texts(path: Path, n: int, seed: int, labels: tuple[str, ...] = toy.LABELS) -> Path:
    return write_csv(path, [(text,) for text, _ in toy.examples(n, seed, labels)])


@pytest.mark.slow
def test_texts_like_the_pool_and_others(run: Path, tmp_path: Path, call: Call) -> None:
    same = texts(tmp_path / "same.csv", 200, 40)
    result = call("watch", run, same, "--json", "--fail-over", "0.25")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["texts"] == {"pool": 300, "new": 200}
    assert found["changed"] == []
    other = texts(tmp_path / "other.csv", 150, 41, toy.LABELS[:1])
    result = call("watch", run, other, "--fail-over", "0.25")
    assert result.code == 1, result.err
    assert "differ from the pool: population stability index" in result.out
    assert call("watch", run, other).code == 0, "without --fail-over it is information only"
    found = alloykit.watch(run, str(other), output=tmp_path / "page.html")
    answers = Counter(
        a["label"] for a in alloykit.Run(run).predict([t for t, _ in toy.examples(150, 41, toy.LABELS[:1])])
    )
    shares = found["labels"]["shares"]
    assert {name: row["new"] for name, row in shares.items()} == {name: answers[name] / 150 for name in shares}
    assert "refund" in found["changed"]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert not any(text in page for text, _ in toy.examples(150, 41, toy.LABELS[:1])), "the page has no texts"
    assert (run / "watch.html").exists()


def test_the_pool_is_read_once(run: Path, tmp_path: Path, call: Call) -> None:
    """Its answers are kept, so that a run folder without its pool can be watched too; another student's are not used."""
    new = texts(tmp_path / "new.csv", 30, 42)
    first = alloykit.watch(run, str(new))
    recipe = run / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("train.csv", "gone.csv"))
    assert alloykit.watch(run, str(new)) == first
    kept = json.loads((run / "pool-answers.json").read_text())
    (run / "pool-answers.json").write_text(json.dumps(kept | {"student": "another"}))
    result = call("watch", run, new)
    collect("watch: no pool", result)
    result.refused("the pool of", "gone.csv", "pool-answers.json")


def test_damaged_answers_to_the_pool_are_refused(run: Path) -> None:
    path, folder, student = run / "pool-answers.json", alloykit.Run(run), Predictor.load(run / "student")
    found = watch_texts._pool_answers(folder, student)
    whole = json.loads(path.read_text())
    assert as_json(watch_texts._pool_answers(folder, student).all) == as_json(found.all)
    for words, content in {
        "all: Field required": {"student": whole["student"], "unseen": None},
        "all.energy: Input should be a valid array, got 'x'": whole | {"all": whole["all"] | {"energy": "x"}},
        "not the counts of 5 labels": whole | {"unseen": whole["all"] | {"labels": [300]}},
    }.items():
        path.write_text(json.dumps(content))
        with pytest.raises(AlloyError, match=words) as refused:
            watch_texts._pool_answers(folder, student)
        assert (str(path) in refused.value.expected, refused.value.hint) == (True, "Delete it: it is written again.")


def test_the_pool_is_measured_on_texts_that_the_student_did_not_learn_from(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer of the texts that it learned from are foreign, so new texts of the same kind would seem to have more."""
    monkeypatch.setattr(watch_texts, "ENOUGH", 20)
    found = alloykit.watch(run, str(texts(tmp_path / "new.csv", 30, 42)))
    kept = json.loads((run / "pool-answers.json").read_text())
    assert found["unseen"]
    assert found["foreign"]["pool_interval"] == wilson(kept["unseen"]["foreign"], 50)


def test_watch_refuses(run: Path, tmp_path: Path, call: Call) -> None:
    for arguments, words in {
        (tmp_path / "nowhere", "x.csv"): ("a recipe file",),
        (run, "nowhere.csv"): ("nowhere.csv",),
        (run, texts(tmp_path / "new.csv", 5, 1), "--text", "body"): ("column 'body'",),
    }.items():
        result = call("watch", *arguments)
        collect("watch", result)
        result.refused(*words)
