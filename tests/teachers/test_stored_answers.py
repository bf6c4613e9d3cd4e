"""Stored answers: every form and format gives the probabilities that the documentation says, joined by text or by row."""

from __future__ import annotations

import csv
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from alloykit.data import TextsOptions, load_texts
from alloykit.errors import AlloyError
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.stages.prepare import teachers_and_labels
from alloykit.teachers.protocol import FLOOR, Reading, TeacherInfo, probabilities_as_logits
from alloykit.teachers.stored_answers import AnswersSpec

LABELS = ["bug", "login", "crash"]
ROWS = [("a", 0.5, 0.3, 0.2), ("b", 0.0, 1.0, 0.0), ("c", None, None, None)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def answers(path: Path, texts: list[Any], **options: Any) -> Tensor:
    """What the teacher answers to these texts, as probabilities; NaN for no answer."""
    info = AnswersSpec(answers=str(path), **options).describe("llm")
    teacher = info.with_texts(load_texts(texts)).load(Reading())
    pairs = [t[1] if isinstance(t, tuple) else None for t in texts]
    prepared = teacher.prepare([t[0] if isinstance(t, tuple) else t for t in texts], pairs)
    return teacher.answer(prepared, lambda n: None).logits.double().exp()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("by", ["text", "row"])
def test_a_column_for_every_label(name: str, by: str, tmp_path: Path) -> None:
    rows = [{"text": t, "bug": a, "login": b, "crash": c} for t, a, b, c in ROWS]
    path = write(tmp_path / name, rows)
    if by == "text":
        found = answers(path, ["b", "new", "c", "a", "b"])
        order: list[int | None] = [1, None, None, 0, 1]
    else:
        found = answers(path, ["x", "y", "z"], by="row", labels=LABELS)
        order = [0, 1, None]
    for row, n in zip(found, order, strict=True):
        if n is None:
            assert bool(row.isnan().all())
        else:
            assert row.tolist() == pytest.approx([p or 0.0 for p in ROWS[n][1:]], abs=2 * FLOOR)  # type: ignore[operator]


def test_a_probability_of_zero_becomes_the_floor() -> None:
    found = probabilities_as_logits(torch.tensor([[1.0, 0.0, 0.0], [2.0, 1.0, 1.0], [math.nan] * 3]))
    assert found[0].exp().tolist() == pytest.approx([1 / (1 + 2e-6), 1e-6 / (1 + 2e-6), 1e-6 / (1 + 2e-6)], rel=1e-4)
    assert found[1].exp().tolist() == pytest.approx([0.5, 0.25, 0.25])
    assert found[:2].logsumexp(-1).tolist() == pytest.approx([0, 0], abs=1e-6)
    assert bool(found[2].isnan().all())


def test_logits_stay_logits(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"text": "a", "bug": 3.0, "login": -1.0}])
    info = AnswersSpec(answers=str(path), values="logits").describe("llm")
    assert info.gives.logits
    teacher = info.load(Reading())
    assert teacher.answer(teacher.prepare(["a"]), lambda n: None).logits.tolist() == [[3.0, -1.0]]


def test_a_label_and_its_confidence(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "said": "bug", "p": 0.8},
        {"text": "b", "said": " crash ", "p": 0.4},
        {"text": "c", "said": "", "p": ""},
    ]
    path = write(tmp_path / "a.csv", rows)
    found = answers(path, ["a", "b", "c"], label="said", confidence="p", labels=LABELS)
    assert found[:2].tolist() == [pytest.approx([0.8, 0.1, 0.1]), pytest.approx([0.3, 0.3, 0.4])]
    assert bool(found[2].isnan().all())
    assert answers(path, ["a"], label="said", certainty=0.9)[0].tolist() == pytest.approx([0.9, 0.1]), "bug, crash"


@pytest.mark.parametrize("form", ["mapping", "list", "pairs", "json"])
def test_the_best_labels_with_log_probabilities(form: str, tmp_path: Path) -> None:
    top = {"bug": math.log(0.6), "crash": math.log(0.1), "other": -1.0}
    cell: Any = {
        "mapping": top,
        "list": [{"label": k, "logprob": v} for k, v in top.items()],
        "pairs": list(top.items()),
        "json": json.dumps(top),
    }[form]
    path = write(tmp_path / "a.jsonl", [{"text": "a", "top": cell}, {"text": "b", "top": {"login": 0.0}}])
    found = answers(path, ["a", "b"], top="top", labels=[*LABELS, "ui"])
    assert found[0].tolist() == pytest.approx([0.6, 0.15, 0.1, 0.15], abs=1e-5), (
        "the rest goes to the labels that are not named"
    )
    assert found[1].tolist() == pytest.approx([0, 1, 0, 0], abs=5e-6)
    both = write(tmp_path / "b.jsonl", [{"text": "a", "top": {"x": math.log(0.2), "y": math.log(0.2)}}])
    assert answers(both, ["a"], top="top")[0].tolist() == pytest.approx([0.5, 0.5]), "no label is left for the rest"


def test_a_log_probability_that_is_rounded_above_0_counts_as_0(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"text": "a", "top": {"bug": 1e-6, "login": -20}}])
    assert answers(path, ["a"], top="top")[0].tolist() == pytest.approx([1, 0], abs=5e-6)


def test_pairs_are_joined_by_both_texts(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "second": "x", "bug": 0.9, "login": 0.1},
        {"text": "a", "second": "y", "bug": 0.2, "login": 0.8},
    ]
    path = write(tmp_path / "a.csv", rows)
    found = answers(path, [("a", "y"), ("a", "x"), ("a", "z")], text_pair="second", labels=["bug", "login"])
    assert found[:2, 0].tolist() == pytest.approx([0.2, 0.9])
    assert bool(found[2].isnan().all())


def test_of_a_repeated_text_the_first_answer_counts(tmp_path: Path) -> None:
    rows = [{"text": "a", "bug": p, "login": 1 - p} for p in (0.9, 0.1)]
    assert answers(write(tmp_path / "a.csv", rows), ["a"])[0, 0] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("row", "options", "words"),
    [
        ({"bug": 0.5, "login": 0.9}, {}, "1 in all"),
        ({"bug": -0.5, "login": 1.5}, {}, "none negative"),
        ({"label": "bug", "score": 1}, {}, "numbers in the columns.*got 'bug'.*`label: COLUMN"),
        ({"label": "bug"}, {}, "at least 2 labels.*got 'label'.*`label: COLUMN"),
        ({"bug": 0.5, "login": 0.5}, {"labels": ["bug", "crash"]}, "a column for every label"),
        ({"bug": 0.5, "login": 0.5}, {"labels": ["bug"]}, "at least 2 labels"),
        ({"said": "bug", "p": 2}, {"label": "said", "confidence": "p", "labels": LABELS}, "confidences from 0 to 1"),
        ({"said": "bug", "p": 1}, {"label": "sad", "confidence": "p"}, "Did you mean 'said'"),
        (dict.fromkeys(map(str, range(1001)), 0), {}, "at most 1,000 labels"),
        ({"bug": 2e30, "login": 0}, {"values": "logits"}, "logits of at most"),
        ({"top": "bug"}, {"top": "top", "labels": LABELS}, "the best labels as"),
        (
            {"top": {"bug": 0.7, "login": 0.3}},
            {"top": "top"},
            "log-probabilities, none above 0.*`label` and `confidence`",
        ),
        ({"top": {"bug": 95, "login": 5}}, {"top": "top", "labels": LABELS}, "log-probabilities, none above 0"),
        ({"top": [["bug", 2.0], ["login", -1]]}, {"top": "top"}, "log-probabilities, none above 0"),
    ],
)
def test_what_cannot_be_an_answer(row: dict[str, Any], options: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"text": "a", **row}])
    with pytest.raises(AlloyError, match=words):
        answers(path, ["a"], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"label": "said"},
        {"label": "said", "confidence": "p", "certainty": 0.9},
        {"confidence": "p"},
        {"certainty": 0.9},
        {"confidence": "p", "certainty": 0.9},
        {"label": "said", "certainty": 0.9, "top": "top"},
        {"label": "said", "certainty": 0.9, "values": "logits"},
        {"top": "top", "values": "logits"},
    ],
    ids=str,
)
def test_a_file_has_one_form(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="either|values: logits is for files with a column for every label"):
        AnswersSpec(answers="a.csv", **options)


def test_labels_that_are_not_listed_are_no_answers_unless_there_are_many(tmp_path: Path) -> None:
    many = [f"text {i}" for i in range(40)]
    rows = [{"text": text, "said": "bux" if i < 4 else "bug"} for i, text in enumerate(many)]
    options: dict[str, Any] = {"label": "said", "certainty": 0.9, "labels": LABELS}
    found = answers(write(tmp_path / "a.csv", rows), many, **options)
    assert found[:4].isnan().all()
    assert not found[4:].isnan().any()
    found = answers(write(tmp_path / "few.csv", rows[:6]), many, **options)
    assert found[:, 0].isnan().tolist() == [i not in (4, 5) for i in range(40)], (
        "of few answers, many may have another label"
    )
    rows = [{"text": text, "said": "bux" if i < 11 else "bug"} for i, text in enumerate(many)]
    with pytest.raises(AlloyError, match=r"others in 11 of 40 answers, such as 'bux' \(11 times\)"):
        answers(write(tmp_path / "b.csv", rows), many, **options)


def test_best_labels_of_which_the_first_is_not_listed_are_no_answer_unless_there_are_many(tmp_path: Path) -> None:
    many, wrong = [f"text {i}" for i in range(40)], [{"bux": -0.1}, {"bug": -3, "bux": -0.1}, {}]
    rows = [{"text": text, "top": wrong[i] if i < 3 else {"bug": -0.1, "bux": -3}} for i, text in enumerate(many)]
    found = answers(write(tmp_path / "a.jsonl", rows), many, top="top", labels=LABELS)
    assert found[:3].isnan().all()
    assert not found[3:].isnan().any()
    rows = [{"text": text, "top": wrong[i % 2] if i < 11 else {"bug": -0.1}} for i, text in enumerate(many)]
    with pytest.raises(AlloyError, match=r"others in 11 of 40 answers, such as 'bux' \(11 times\)"):
        answers(write(tmp_path / "b.jsonl", rows), many, top="top", labels=LABELS)


def test_answers_to_other_texts_are_refused_before_any_teacher_reads(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"text": "other", "bug": 0.5, "login": 0.5}])
    with pytest.raises(AlloyError, match="1 answers, all to other texts.*`by: row`"):
        AnswersSpec(answers=str(path)).describe("a").with_texts(load_texts(["one"]))


@pytest.mark.parametrize(
    ("text", "second", "message"),
    [(("a", "y"), None, "texts are pairs: .*`text_pair: COLUMN`"), ("a", "text_pair", "are no pairs: leave out `text")],
)
def test_pairs_and_single_texts_are_not_joined(text: Any, second: str | None, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"text": "a", "text_pair": "y", "bug": 0.5, "login": 0.5}])
    with pytest.raises(AlloyError, match=message):
        answers(path, [text], text_pair=second, labels=["bug", "login"])


def test_too_few_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"bug": 0.5, "login": 0.5}])
    with pytest.raises(AlloyError, match="expected 2 rows in .* got 1"):
        answers(path, ["a", "b"], by="row", labels=["bug", "login"])


def test_too_many_rows_unless_a_limit_ended_the_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"bug": 0.5, "login": 0.5}] * 3)
    with pytest.raises(AlloyError, match="expected 2 rows in .* got 3"):
        answers(path, ["a", "b"], by="row", labels=["bug", "login"])
    spec = AnswersSpec(answers=str(path), by="row", labels=["bug", "login"])
    three, one = (write(tmp_path / f"{n}.csv", [{"text": str(i)} for i in range(n)]) for n in (3, 1))
    spec.describe("llm").with_texts(load_texts(three, limit=2))
    limited = TextsOptions(path=str(three), limit=1, more=[{"path": str(one), "limit": None}])
    with pytest.raises(AlloyError, match="expected 2 rows in .* got 3"):  # the rows of the second file are others
        spec.describe("llm").with_texts(load_texts(limited))


@pytest.mark.parametrize("form", ["columns", "label", "top"])
@pytest.mark.parametrize("names", [("LABEL_0", "LABEL_1"), ("0", "1")], ids=str)
def test_labels_without_names_are_refused_unless_numbers_are_listed(names: Any, form: str, tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "columns": dict(zip(names, (0.2, 0.8), strict=True)),
        "label": {"label": names[1]},
        "top": {"top": {names[0]: -2, names[1]: -0.2}},
    }[form]
    options: dict[str, Any] = {"label": {"label": "label", "certainty": 0.9}, "top": {"top": "top"}}.get(form, {})
    rows = [{"text": "a"} | row] + [{"text": "b", "label": names[0]}] * (form == "label")
    path = write(tmp_path / "a.jsonl", rows)
    spec = AnswersSpec(answers=str(path), **options)
    with pytest.raises(AlloyError, match=rf"real label names.*teacher 'llm'.*'{names[0]}'"):
        teachers_and_labels([spec.model_copy(update={"name": "llm"})], LabelOptions())
    listed = spec.model_copy(update={"name": "llm", "labels": list(names)})
    if names[0] == "0":
        assert teachers_and_labels([listed], LabelOptions())[1].names == names
    else:
        with pytest.raises(AlloyError, match="real label names for teacher 'llm'.*'LABEL_0'"):
            teachers_and_labels([listed], LabelOptions())


def test_another_content_is_another_teacher(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"text": "a", "bug": 0.5, "login": 0.5}])
    before = AnswersSpec(answers=str(path)).describe("llm").identity()
    copy = write(tmp_path / "b.csv", [{"text": "a", "bug": 0.5, "login": 0.5}])
    assert AnswersSpec(answers=str(copy), name="other").describe("other").identity() == before
    write(path, [{"text": "a", "bug": 0.25, "login": 0.75}])
    assert AnswersSpec(answers=str(path)).describe("llm").identity() != before


def test_the_rows_of_other_texts_are_other_answers(tmp_path: Path) -> None:
    """The store knows texts by their id. So a sweep of the same texts in another order would find the answers to the first order."""
    texts = ["a text", "another text"]
    path = write(
        tmp_path / "a.csv", [{"text": t, "bug": p, "login": 1 - p} for t, p in zip(texts, (0.9, 0.1), strict=True)]
    )
    row, text = (
        AnswersSpec(answers=str(path), labels=["bug", "login"], by=by).describe("llm") for by in ("row", "text")
    )
    options = SweepOptions(max_length=8)

    def swept(info: TeacherInfo, order: list[str], where: Path) -> list[int]:
        table, store = load_texts(order), Store(where)
        sweep([info.with_texts(table)], table, store, options)
        return StoredKnowledge(store, ["llm"], table.ids()).rows(range(2)).teachers[0].logits.argmax(-1).tolist()

    assert swept(row, texts, tmp_path / "one") == [0, 1]
    assert swept(row, texts, tmp_path / "one") == [0, 1], "the same texts"
    with pytest.raises(AlloyError, match="outputs of teacher 'llm' made with rows_of_texts"):
        swept(row, texts[::-1], tmp_path / "one")
    assert swept(row, texts[::-1], tmp_path / "two") == [0, 1]
    before = {path: path.read_bytes() for path in (tmp_path / "one").rglob("*") if path.is_file()}
    sweep(
        [row], load_texts(texts), Store(tmp_path / "one"), options
    )  # as `evaluate`, which has not read the recipe's texts
    sweep([row], load_texts(["a new text"]), Store(tmp_path / "one"), options)
    assert swept(row, texts, tmp_path / "one") == [0, 1]
    assert not [path for path, content in before.items() if path.read_bytes() != content]
    assert row.with_texts(load_texts(texts)).identity() == row.identity()
    assert text.with_texts(load_texts(texts)).rows_of_texts is None
