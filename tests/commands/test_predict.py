"""`predict`: one answer per input row, the same as transformers' own pipeline gives."""

from __future__ import annotations

import gzip
import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from commandline import Call, Finished, collect, execute, write_csv, write_recipe
from toy import LABELS, examples
from transformers import AutoModelForSequenceClassification, pipeline

import alloykit
from alloykit.models.export import ESTIMATED, save_in_config

TEXTS = [text for text, _ in examples(12, seed=4)]


@pytest.fixture
def classify(finished: Finished) -> object:
    return pipeline("text-classification", model=str(finished.folder / "student"), device="cpu")


def calibrated(classify: Any, given: Any) -> list[float]:
    """The pipeline's highest probability for each text, after its logits were divided by the folder's temperature."""
    temperature = classify.model.config.alloykit_temperature
    found = [classify(one, function_to_apply="none", top_k=None) for one in given]
    logits = torch.tensor([[entry["score"] for entry in entries] for entries in found])
    return [float(p) for p in (logits / temperature).softmax(-1).max(-1).values]


def test_the_student_is_a_plain_classifier_with_the_real_labels(finished: Finished) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(finished.folder / "student")
    assert model.config.id2label == dict(enumerate(LABELS))
    assert model.config.label2id == {label: i for i, label in enumerate(LABELS)}
    assert model.dtype == torch.float32
    assert model.config.num_hidden_layers == 2
    assert not [name for name in model.state_dict() if name.startswith(("student.", "modules_of_method"))]


def test_the_pipeline_gives_the_same_answers(finished: Finished, classify: object, tmp_path: Path, call: Call) -> None:
    answers = call("predict", finished.folder, write_csv(tmp_path / "in.csv", [[t] for t in TEXTS])).lines
    expected = classify(TEXTS)  # type: ignore[operator]
    assert [a["label"] for a in answers] == [e["label"] for e in expected]
    assert [a["probability"] for a in answers] == pytest.approx(calibrated(classify, TEXTS), abs=1e-5)
    assert [a["probability"] for a in answers] != pytest.approx([e["score"] for e in expected], abs=1e-3), "it changes"
    assert len({a["label"] for a in answers}) >= 2, "a student that says one thing always would prove nothing"
    from_python = alloykit.Run(finished.folder).predict(TEXTS)
    assert [p["label"] for p in from_python] == [a["label"] for a in answers]
    assert [p["probability"] for p in from_python] == pytest.approx([a["probability"] for a in answers], abs=1e-5)


def test_python_and_the_command_cut_long_texts_at_the_same_place(finished: Finished, call: Call) -> None:
    """The recipe says max_length: 32; the student learned nothing about what comes later."""
    long = [" ".join([text for text, _ in examples(12, seed=s)]) for s in range(6)]
    told = call("predict", finished.folder, stdin="\n".join(long)).lines
    run = alloykit.Run(finished.folder).predict(long)
    assert [p["probability"] for p in run] == pytest.approx([a["probability"] for a in told], abs=1e-5)


def test_the_estimated_accuracy_of_a_label(finished: Finished, tmp_path: Path, call: Call) -> None:
    student = tmp_path / "student"
    shutil.copytree(finished.folder / "student", student)
    call("predict", finished.folder / "student", "--estimated-accuracy", stdin=TEXTS[0]).refused("estimated accuracy")
    save_in_config(student, {ESTIMATED: {label: None if n == 0 else n / 10 for n, label in enumerate(LABELS)}})
    lines = call("predict", student, "--estimated-accuracy", stdin="\n".join(TEXTS)).lines
    wanted = [None if LABELS.index(line["label"]) == 0 else LABELS.index(line["label"]) / 10 for line in lines]
    assert [line["estimated_accuracy"] for line in lines] == wanted
    run = tmp_path / "run"
    shutil.copytree(finished.folder, run)
    shutil.copy(student / "config.json", run / "student" / "config.json")
    from_python = alloykit.Run(run).predict(TEXTS, estimated_accuracy=True)
    assert [answer["estimated_accuracy"] for answer in from_python] == wanted
    assert "estimated_accuracy" not in alloykit.Run(run).predict(TEXTS[0])
    save_in_config(student, {ESTIMATED: {LABELS[0]: "much"}})
    call("predict", student, "--estimated-accuracy", stdin=TEXTS[0]).refused("estimated accuracy")


ROWS = [TEXTS[0], "", TEXTS[1], "   ", TEXTS[2]]


def rows_file(kind: str, folder: Path) -> Path:
    path = folder / f"in.{kind}"
    if kind == "csv":
        return write_csv(path, [[i, t] for i, t in enumerate(ROWS)], ("number", "text"))
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"text": t}) + "\n" for t in ROWS), encoding="utf-8")
    elif kind == "txt":
        path.write_text("".join(f"{t}\n" for t in ROWS), encoding="utf-8")
    else:
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(f"{t}\n" for t in ROWS)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "txt", "txt.gz", "stdin"])
def test_every_row_gets_one_answer_in_order(
    kind: str, finished: Finished, classify: object, tmp_path: Path, call: Call
) -> None:
    if kind == "stdin":
        result = call("predict", finished.folder, stdin="".join(f"{t}\n" for t in ROWS))
    else:
        result = call("predict", finished.folder, rows_file(kind, tmp_path))
    assert result.code == 0, result.err
    assert [line["row"] for line in result.lines] == [0, 1, 2, 3, 4]
    for row in (1, 3):
        assert result.lines[row]["label"] is None
        assert result.lines[row]["probability"] is None
        assert "no usable text" in result.lines[row]["error"]
    expected = [e["label"] for e in classify(TEXTS[:3])]  # type: ignore[operator]
    assert [result.lines[row]["label"] for row in (0, 2, 4)] == expected


def test_every_way_in_has_the_same_rows_without_a_usable_text(finished: Finished, tmp_path: Path, call: Call) -> None:
    lines = ["\ufeff" + TEXTS[0], "a\0b", "", "  \u00a0", TEXTS[1]]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    of_file = call("predict", finished.folder, tmp_path / "t.txt").lines
    assert [line["label"] is None for line in of_file] == [False, True, True, True, False]
    assert call("predict", finished.folder, stdin="\n".join(lines)).lines == of_file
    lines[0] = TEXTS[0]
    assert list(alloykit.predict(finished.folder, lines)) == of_file
    of_run = alloykit.Run(finished.folder).predict([*lines, "a\ud800b"])
    assert [answer["label"] for answer in of_run[:-1]] == [answer["label"] for answer in of_file]
    assert [answer.get("error") for answer in of_run] == [None, "text contains a NUL character", "empty text", "empty text", None, "text is not valid Unicode"]  # fmt: skip
    assert next(alloykit.predict(finished.folder, ["a\ud800b", TEXTS[0]]))["label"] is None


@pytest.mark.parametrize("kind", ["csv", "stdin"])
def test_many_texts_are_answered_part_by_part(
    kind: str, finished: Finished, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows without a usable text: at the beginning, in a part without texts, and at the end."""
    rows = ["", "", *TEXTS[:3], "", " ", "", "", TEXTS[3], TEXTS[3], "", "", ""]
    path = write_csv(tmp_path / "in.csv", [[n, text] for n, text in enumerate(rows)], ("n", "text"))
    given: dict[str, Any] = {"stdin": "\n".join(rows) + "\n"} if kind == "stdin" else {}
    arguments = ("predict", finished.folder, *(() if given else (path,)))
    whole = call(*arguments, **given)
    monkeypatch.setattr("alloykit.finished_runs.predict_texts.TEXTS_AT_ONCE", 2)
    parts = call(*arguments, **given)
    assert [line["row"] for line in whole.lines] == list(range(len(rows)))
    assert [line["label"] is None for line in whole.lines] == [not row.strip() for row in rows]
    assert [line["label"] for line in parts.lines] == [line["label"] for line in whole.lines]
    assert ("prediction of lines 5 to 6:" if kind == "stdin" else "prediction of texts 3 to 4 of 5:") in parts.err
    call(*arguments, "--output", tmp_path / "out.jsonl", **given)
    assert (tmp_path / "out.jsonl").read_text() == parts.out


def test_the_answers_of_the_first_part_come_before_the_rest_is_read(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alloykit.finished_runs.predict_texts.TEXTS_AT_ONCE", 2)
    stream = StringIO("\n".join(TEXTS))
    answers = alloykit.predict(finished.folder, stream)
    assert next(answers)["row"] == 0
    assert stream.readline().strip() == TEXTS[2]


def test_all_probabilities_sum_to_one(finished: Finished, call: Call) -> None:
    for line in call("predict", finished.folder, "--all-probabilities", "-", stdin="\n".join(TEXTS)).lines:
        assert list(line["probabilities"]) == list(LABELS)
        assert sum(line["probabilities"].values()) == pytest.approx(1, abs=1e-5)
        assert line["probability"] == max(line["probabilities"].values()) == line["probabilities"][line["label"]]


@pytest.mark.slow
def test_predict_in_a_process_of_its_own_from_a_pipe(finished: Finished) -> None:
    """Words that only look like nothing stay texts; the last line needs no line break."""
    result = execute("predict", finished.folder, stdin="card café 你好\nNA\r\n\nnull".encode())
    assert result.code == 0, result.err
    assert [line["row"] for line in result.lines] == [0, 1, 2, 3]
    assert [line["label"] is None for line in result.lines] == [False, False, True, False]


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (gzip.compress(b"card", mtime=0), "got a gzip file. Standard input takes one text per line, unpacked"),
        (b"\x28\xb5\x2f\xfd\x24", "got a zstd file"),
        (b"PAR1\x15", "got a Parquet file. Standard input takes one text per line"),
        ("card\nbill\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
        ("card\nbill\n".encode("utf-16-le"), "iconv -f UTF-16LE -t UTF-8"),
    ],
)
def test_what_is_no_text_on_standard_input(stdin: bytes, message: str, models: dict[str, Path], call: Call) -> None:
    call("predict", models["billing"], stdin=stdin).refused("UTF-8 text on standard input", message)


def test_predict_refuses_bytes_that_are_no_text(finished: Finished, call: Call) -> None:
    result = call("predict", finished.folder, stdin=b"caf\xe9 in latin-1\n")
    collect("stdin is not UTF-8", result)
    result.refused("UTF-8", "0xe9")


def test_predict_writes_a_file_whole(finished: Finished, tmp_path: Path, call: Call) -> None:
    out = tmp_path / "answers.jsonl"
    result = call("predict", finished.folder, "--output", out, stdin="\n".join(TEXTS))
    assert (result.code, result.out) == (0, "")
    assert [json.loads(line)["row"] for line in out.read_text().splitlines()] == list(range(12))


def test_a_model_folder_answers_too(finished: Finished, models: dict[str, Path], call: Call) -> None:
    whole = call("predict", finished.folder, stdin="\n".join(TEXTS)).out
    assert call("predict", finished.folder / "student", stdin="\n".join(TEXTS)).out == whole
    labels = {line["label"] for line in call("predict", models["billing"], stdin="\n".join(TEXTS)).lines}
    assert labels <= {"refund", "charge", "invoice"}


@pytest.mark.slow
def test_a_text_longer_than_the_model_reads_is_cut(
    recipe: dict[str, object], models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    """max_length is 128 by default; these models have 80 positions, and the tokenizer says 64."""
    long = " ".join(tiny.texts(1, seed=3, longest=12) * 60)
    assert call("predict", models["billing"], stdin=long).code == 0
    recipe["texts"] = str(write_csv(tmp_path / "long.csv", [[t] for t in [*tiny.texts(20), long]]))
    recipe["training"] = {"epochs": 1, "batch_size": 8}
    recipe["method"] = {"name": "muka", "passes": 0}
    result = call("amalgamate", write_recipe(tmp_path, recipe))
    assert result.code == 0, result.err


BAD = {
    "no run": (("nowhere",), ("'nowhere'", "does not exist")),
    "run without student": (("empty",), ("'empty'", "config.json")),
    "model without weights": (("weightless",), ("weightless", "safetensors")),
    "missing texts": (("RUN", "no.csv"), ("no.csv",)),
    "wrong column": (("RUN", "in.csv", "--text", "body"), ("column 'body'", "'text'")),
    "wrong column of pairs": (("RUN", "in.csv", "--text-pair", "second"), ("column 'second'",)),
    "nothing to read": (("RUN",), ("at least one text", "none")),
    "output in a file": (("RUN", "in.csv", "--output", "in.csv/out"), ("in.csv",)),
}


@pytest.mark.parametrize("name", BAD)
def test_predict_refuses(
    name: str, finished: Finished, models: dict[str, Path], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "in.csv", [[t] for t in TEXTS])
    (tmp_path / "empty").mkdir()
    (tmp_path / "weightless").mkdir()
    (tmp_path / "weightless" / "config.json").write_bytes((models["billing"] / "config.json").read_bytes())
    arguments, words = BAD[name]
    result = call("predict", *(finished.folder if a == "RUN" else a for a in arguments))
    collect(f"predict: {name}", result)
    result.refused(*words)


@pytest.mark.slow
def test_pairs(models: dict[str, Path], tmp_path: Path, call: Call) -> None:
    """From recipe to answers: two columns of text, and the second one counts."""
    pairs = list(zip(tiny.texts(60), tiny.texts(60, seed=8), strict=True))
    recipe = {
        "teachers": [str(models["billing"]), str(models["delivery"])],
        "texts": {"path": str(write_csv(tmp_path / "p.csv", pairs, ("question", "passage"))), "text": "question", "text_pair": "passage"},
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": {"name": "vanilla_kd"},
        "training": {"epochs": 4, "learning_rate": 3e-3, "batch_size": 16, "max_length": 48},
        "output": str(tmp_path / "run"),
    }  # fmt: skip
    assert call("amalgamate", write_recipe(tmp_path, recipe)).code == 0
    columns = ("--text", "question", "--text-pair", "passage")
    answers = call("predict", tmp_path / "run", tmp_path / "p.csv", *columns).lines
    classify = pipeline("text-classification", model=str(tmp_path / "run" / "student"), device="cpu")
    given = [{"text": a, "text_pair": b} for a, b in pairs[:8]]
    expected = [classify(one) for one in given]
    found = [e[0] if isinstance(e, list) else e for e in expected]
    assert [a["label"] for a in answers[:8]] == [e["label"] for e in found]
    assert [a["probability"] for a in answers[:8]] == pytest.approx(calibrated(classify, given), abs=1e-5)
    alone = call("predict", tmp_path / "run", tmp_path / "p.csv", "--text", "question").lines
    assert [a["probability"] for a in alone] != [a["probability"] for a in answers]
