"""`alloykit generate` and `texts: generate`: from model folders alone to a student; kills; what is refused."""

from __future__ import annotations

import json
import pickle
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest
import tiny
from commandline import Call, write_recipe

import alloykit
import alloykit.stages.generated_texts as generate_module
from alloykit.engines.jobs import Job, Worker
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.generation.writer import Writer
from alloykit.planning.plan_run import plan_recipe
from alloykit.recipe.generate_recipe import GenerateRecipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.reporting.figures import percent
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.generated_texts import generate_recipe

pytestmark = pytest.mark.slow

TRAINING = {"epochs": 1, "learning_rate": 1e-3, "batch_size": 8, "max_length": 32}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generate")
    tiny.language_model(folder / "lm")
    tiny.classifier(folder / "billing", ["refund", "charge"], "bert", seed=1)
    tiny.classifier(folder / "parcels", ["late", "lost"], "roberta", seed=2)
    return folder


def block(place: Path, **more: Any) -> dict[str, Any]:
    return {
        "language_model": str(place / "lm"),
        "candidates": 8,
        "top_k": 5,
        "max_tokens": 8,
        "min_tokens": 3,
        "per_class": 8,
        "batch_size": 8,
    } | more


def recipe(place: Path, output: Path, **more: Any) -> GenerateRecipe:
    values = {
        "teachers": [str(place / "billing"), str(place / "parcels")],
        "generation": block(place, **more),
        "max_length": 32,
        "output": str(output),
    }
    return parse(values, GenerateRecipe)


def rows(path: Path) -> list[dict[str, Any]]:
    return list(datasets.Dataset.from_parquet(str(path), keep_in_memory=True))


def test_texts_for_every_class_of_every_teacher(place: Path, tmp_path: Path) -> None:
    found = rows(generate_recipe(recipe(place, tmp_path / "out")))
    assert len(found) == 32
    for teacher, labels in (("billing", {"refund", "charge"}), ("parcels", {"late", "lost"})):
        own = [r for r in found if r["teacher"] == teacher]
        assert {r["label"] for r in own} == labels
        assert len({r["text"].casefold() for r in own}) == len(own) == 16, "no text twice"
        assert all(0 <= r["confidence"] <= 1 and r["perplexity"] > 1 and r["predicted"] in labels for r in own)
    assert " billing, refund: 8 texts, " in (tmp_path / "out" / "run.log").read_text()
    summary = json.loads((tmp_path / "out" / "generation.json").read_text())
    assert summary["reads"] > 0
    assert set(summary["teachers"]) == {"billing", "parcels"}
    control = [r["predicted"] == r["label"] for r in found if r["teacher"] == "billing"]
    assert summary["teachers"]["billing"]["control"] == pytest.approx(sum(control) / 16)
    refund = [r["predicted"] == "refund" for r in found if r["label"] == "refund"]
    assert summary["teachers"]["billing"]["control_by_label"]["refund"] == pytest.approx(sum(refund) / 8)


def test_killed_and_started_again_it_writes_the_same(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rows(generate_recipe(recipe(place, tmp_path / "whole")))
    real, calls = Writer.write, []

    def write(self: Writer, *args: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, *args)

    monkeypatch.setattr(Writer, "write", write)
    with pytest.raises(KeyboardInterrupt):
        generate_recipe(recipe(place, tmp_path / "cut"))
    before = len(calls)
    assert rows(generate_recipe(recipe(place, tmp_path / "cut"))) == whole
    monkeypatch.undo()
    needed = len(list((tmp_path / "whole" / "batches").rglob("*-*.json")))
    assert len(calls) == before + needed - 3, "finished batches are not written again"
    told = [json.loads((tmp_path / run / "generation.json").read_text()) | {"seconds": 0} for run in ("whole", "cut")]
    assert told[0] == told[1]
    assert told[0]["reads"] > 0
    assert generate_recipe(recipe(place, tmp_path / "cut")).exists()


class OtherOrder:
    """An engine with two workers, which gets everything pickled and does the last job first."""

    def run(self, jobs: Sequence[Job], worker: Callable[[], Worker], what: str, unit: str) -> Iterator[tuple[int, Any]]:
        sent = pickle.dumps(worker)
        workers = [pickle.loads(sent)() for _ in range(2)]
        for n in reversed(range(len(jobs))):
            yield n, pickle.loads(pickle.dumps(workers[n % 2](pickle.loads(pickle.dumps(jobs[n])))))


def test_other_workers_write_the_same_texts(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Few tokens, so that some texts are the same and more batches are needed.
    more = {"batch_size": 3, "max_tokens": 3, "per_class": 7}
    whole = rows(generate_recipe(recipe(place, tmp_path / "whole", **more)))
    values = recipe(place, tmp_path / "shared", **more).model_dump(mode="json") | {"engine": "ray"}
    monkeypatch.setattr(generate_module, "engine_of", lambda options: OtherOrder())
    assert rows(generate_recipe(parse(values, GenerateRecipe))) == whole
    written = [sorted(p.name for p in (tmp_path / run / "batches").rglob("*.json")) for run in ("whole", "shared")]
    assert written[0] == written[1], "and no batch more"
    told = [
        json.loads((tmp_path / run / "generation.json").read_text()) | {"seconds": 0} for run in ("whole", "shared")
    ]
    assert told[0] == told[1]


def test_texts_that_are_there_have_their_summary(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = generate_module.write_json

    def write(path: Path, value: Any) -> None:
        if path.name == "generation.json":
            raise KeyboardInterrupt
        real(path, value)

    monkeypatch.setattr(generate_module, "write_json", write)
    with pytest.raises(KeyboardInterrupt):
        generate_recipe(recipe(place, tmp_path / "out"))
    assert not (tmp_path / "out" / "texts.parquet").exists(), "they would be taken for finished"
    monkeypatch.undo()
    assert generate_recipe(recipe(place, tmp_path / "out")).exists()
    assert (tmp_path / "out" / "generation.json").exists()


def test_a_teachers_texts_do_not_depend_on_the_others(place: Path, tmp_path: Path) -> None:
    both = rows(generate_recipe(recipe(place, tmp_path / "both")))
    values = recipe(place, tmp_path / "alone").model_dump(mode="json")
    values["teachers"] = values["teachers"][1:]
    alone = rows(generate_recipe(parse(values, GenerateRecipe)))
    assert [r["text"] for r in both if r["teacher"] == "parcels"] == [r["text"] for r in alone]


def test_the_command(place: Path, tmp_path: Path, call: Call) -> None:
    values = recipe(place, tmp_path / "out", per_class=8).model_dump(mode="json")
    done = call("generate", write_recipe(tmp_path, values))
    assert done.code == 0, done.err
    assert f"texts: {tmp_path / 'out' / 'texts.parquet'}" in done.out
    assert "to the teacher" in done.err
    assert "Arrow" not in done.err, "no bars but ours"


def test_a_student_from_model_folders_alone(place: Path, models: dict[str, Path], tmp_path: Path) -> None:
    run = alloykit.amalgamate(
        teachers=[place / "billing", place / "parcels"],
        texts="generate",
        generation=block(place),
        student={"model": str(models["encoder"]), "layers": 2},
        method="stratanet",
        training=TRAINING,
        evaluate=datasets.Dataset.from_dict(
            {"text": tiny.texts(20), "label": ["refund", "charge", "late", "lost"] * 5}
        ),
        output=tmp_path / "run",
    )
    assert run.has_student
    assert (run.folder / "generated" / "texts.parquet").exists()
    assert run.metrics["texts"]["used"] == 32
    assert {"student", "routing", "ensemble"} <= set(run.metrics["evaluation"]["scores"])
    logged = [h for h in run.training["history"] if "amalgam_rank" in h]
    assert logged
    assert all(-1 <= h["amalgam_cosine"] <= 1 and h["amalgam_rank"] >= 1 for h in logged)
    page = run.report_page.read_text(encoding="utf-8")
    assert "have collapsed" in page
    found = json.loads((run.folder / "generated" / "generation.json").read_text())["teachers"]["parcels"]
    for label in ("late", "lost"):
        share = percent(found["control_by_label"][label], 0)
        assert f'<td class="words">{label}</td><td>{share}</td>' in page
    again = run_recipe(parse(_resolved(run), Recipe))
    assert again.has_student, "finished parts are taken as they are"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The run will be refused")
        plan_recipe(parse(_resolved(run), Recipe), probe=False)
    with pytest.warns(AlloyWarning, match="The run will be refused"):
        plan_recipe(parse(_resolved(run) | {"method": "ensemble"}, Recipe), probe=False)
    assert alloykit.evaluate(run.folder, tmp_csv(tmp_path))["texts"] == 4


def _resolved(run: Any) -> dict[str, Any]:
    import yaml

    values: dict[str, Any] = yaml.safe_load((run.folder / "recipe.yaml").read_text())
    values.pop("evaluate")
    return values


def tmp_csv(folder: Path) -> Path:
    path = folder / "test.csv"
    path.write_text("text,label\nrefund money,refund\nlate box,late\nlost parcel,lost\npaid card,charge\n")
    return path


def test_stratanet_on_real_texts_with_labels_needs_no_generator(
    place: Path, models: dict[str, Path], tmp_path: Path
) -> None:
    table = datasets.Dataset.from_dict({"text": tiny.texts(120), "label": ["refund", "charge", "late", "lost"] * 30})
    run = alloykit.amalgamate(
        [place / "billing", place / "parcels"], table, {"model": str(models["encoder"]), "layers": 2},
        {"name": "stratanet"}, training=TRAINING, output=tmp_path / "run",
    )  # fmt: skip
    assert run.has_student


def test_the_plan_counts_what_is_still_to_be_written(
    place: Path, models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    values = {
        "teachers": [str(place / "billing"), str(place / "parcels")],
        "texts": "generate",
        "generation": block(place, every=3),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "training": TRAINING,
        "output": str(tmp_path / "run"),
    }
    path = write_recipe(tmp_path, values)
    before = call("plan", path, "--json")
    assert before.code == 0, before.err
    assert json.loads(before.out)["generation"]["texts"] == {"billing": 16, "parcels": 16}
    assert json.loads(before.out)["generation"]["reads_each"] == 3 * 8, "⌈8 tokens / 3⌉ times 8 candidates"
    shown = call("plan", path, "--no-probe").out
    assert "texts for teacher billing: 16" in shown
    assert "384 short reads" in shown
    assert not (tmp_path / "run").exists()
    for steer, reads in (("both", 24), ("prompt", 0)):
        values["generation"] = block(place, every=3, steer=steer, prompt="a {label}")
        steered = call("plan", write_recipe(tmp_path, values), "--json", "--no-probe")
        assert json.loads(steered.out)["generation"]["reads_each"] == reads
    values["generation"] = block(place, steer="prompt", prompt="a {label}", descriptions={"lots": "a lost parcel"})
    call("plan", write_recipe(tmp_path, values), "--no-probe").refused("'lots'", "Did you mean 'lost'?")
    values["generation"] = block(place, every=3)
    path = write_recipe(tmp_path, values)
    generate_recipe(
        parse(
            {k: values[k] for k in ("teachers", "generation")}
            | {"max_length": 32, "output": str(tmp_path / "run" / "generated")},
            GenerateRecipe,
        )
    )
    after = call("plan", path, "--json", "--no-probe")
    assert after.code == 0, after.err
    assert json.loads(after.out)["texts"]["used"] == 32


def test_the_description_of_an_unknown_label_is_refused(place: Path, tmp_path: Path) -> None:
    described = {"steer": "prompt", "prompt": "my {label}", "descriptions": {"lots": "a lost parcel"}}
    with pytest.raises(AlloyError, match=r"'lots'.*Did you mean 'lost'"):
        generate_recipe(recipe(place, tmp_path / "out", **described))
    assert not (tmp_path / "out" / "texts.parquet").exists()


def test_what_is_refused(place: Path, models: dict[str, Path], tmp_path: Path, call: Call) -> None:
    values = {
        "teachers": [str(place / "billing"), str(place / "parcels")],
        "texts": "generate",
        "student": {"model": str(models["encoder"]), "layers": 2},
        "output": str(tmp_path / "run"),
    }
    with pytest.raises(AlloyError, match="needs a `generation:` block"):
        parse(values, Recipe)
    with pytest.raises(AlloyError, match="language_model"):
        parse(values | {"generation": {"per_class": 3}}, Recipe)
    with pytest.raises(AlloyError, match=r"label"):
        alloykit.amalgamate(values["teachers"], tiny.texts(20), values["student"], "stratanet", output=tmp_path / "run")
    generate_recipe(recipe(place, tmp_path / "texts", per_class=4))
    with pytest.raises(AlloyError, match="settings that made the texts"):
        generate_recipe(recipe(place, tmp_path / "texts", per_class=5))
    with pytest.raises(AlloyError, match="no-such-model"):
        generate_recipe(
            parse(
                recipe(place, tmp_path / "no").model_dump(mode="json")
                | {"generation": block(place, language_model="no-such-model")},
                GenerateRecipe,
            )
        )


def test_what_was_made_of_other_models_is_not_taken(place: Path, tmp_path: Path) -> None:
    """A teacher trained anew, and a language model in place of another, under the same names."""
    made = tmp_path / "models"
    shutil.copytree(place, made)
    values = recipe(made, tmp_path / "texts", per_class=4)
    generate_recipe(values)
    tiny.classifier(made / "parcels", ["late", "lost"], "roberta", seed=9)
    with pytest.raises(AlloyError, match="settings that made the texts"):
        generate_recipe(values)
    tiny.classifier(made / "parcels", ["late", "lost"], "roberta", seed=2)
    assert generate_recipe(values).exists(), "the same weights again are the same teacher"
    tiny.language_model(made / "lm", seed=5)
    with pytest.raises(AlloyError, match="settings that made the texts"):
        generate_recipe(values)


def test_labels_carry_the_unions_names_throughout(place: Path, tmp_path: Path) -> None:
    values = recipe(place, tmp_path / "out", per_class=4).model_dump(mode="json")
    values["labels"] = {"aliases": {"late": "delayed"}}
    found = rows(generate_recipe(parse(values, GenerateRecipe)))
    own = [r for r in found if r["teacher"] == "parcels"]
    assert {r["label"] for r in own} == {"delayed", "lost"}
    assert {r["predicted"] for r in own} <= {"delayed", "lost"}
    summary = json.loads((tmp_path / "out" / "generation.json").read_text())
    assert list(summary["teachers"]["parcels"]["control_by_label"]) == ["delayed", "lost"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"student": {"model": "no-such-student"}}, "no-such-student"),
        ({"evaluate": {"data": {"path": "no-such-file.csv", "label": "label"}}}, "no-such-file.csv"),
        ({"training": {"select": "labelled"}}, "validation"),
        ({"output": "OCCUPIED"}, "empty or new folder"),
    ],
    ids=["student", "test texts", "validation", "output"],
)
def test_what_is_wrong_is_found_before_the_first_text_is_written(
    change: dict[str, Any],
    message: str,
    place: Path,
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("alloykit.engines.generation_jobs.Writer", None)  # calling it would be another error
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "thesis.txt").write_text("mine")
    values: dict[str, Any] = {
        "teachers": [str(place / "billing"), str(place / "parcels")],
        "texts": "generate",
        "generation": block(place),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": {"name": "stratanet"},
        "output": str(tmp_path / "run"),
    }
    change = {"output": str(tmp_path / "occupied")} if "output" in change else change
    with pytest.raises(AlloyError, match=message):
        run_recipe(parse(values | change, Recipe))
    assert not (tmp_path / "run").exists()


def test_real_texts_are_generated_for_only_where_a_method_asks(
    place: Path, models: dict[str, Path], tmp_path: Path, call: Call
) -> None:
    real = tmp_path / "real.csv"
    real.write_text("text\n" + "\n".join(tiny.texts(30)))
    values = {
        "teachers": [str(place / "billing"), str(place / "parcels")],
        "texts": {"path": str(real)},
        "generation": block(place, per_class=20),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "training": TRAINING,
        "method": {"name": "stratanet"},
        "output": str(tmp_path / "run"),
    }
    asked = call("plan", write_recipe(tmp_path, values), "--no-probe").out
    assert "texts for teacher billing: 40" in asked
    assert "texts: 30" in asked
    values |= {"method": {"name": "ensemble"}}
    assert "texts for teacher" not in call("plan", write_recipe(tmp_path, values), "--no-probe").out
    run = run_recipe(parse(values, Recipe))
    assert not (run.folder / "generated").exists()
