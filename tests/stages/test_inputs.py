"""A run whose inputs have changed in place is refused or made anew: nothing of it is ever silently stale."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tiny
import torch
import toy
import yaml

from alloykit.blocks import ModelSpec
from alloykit.commands.evaluate import evaluate
from alloykit.data import load_texts
from alloykit.errors import AlloyError
from alloykit.knowledge.online.encoder_states import EncoderReading, TextEncoder
from alloykit.methods.muka.method import Muka
from alloykit.methods.protocol import Needs, TextStates
from alloykit.outputs import Rows, Source
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.run_folder import RunFolder, record_inputs
from alloykit.stages import knowledge
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.inputs import fitted_to, inputs_of
from alloykit.stages.prepare import prepare

pytestmark = pytest.mark.slow

BILLING = ("refund", "charge", "invoice")


def write_all(folder: Path) -> dict[str, Any]:
    """Models and texts of its own for a run that has something of everything."""
    tiny.classifier(folder / "billing", BILLING, "bert", seed=1)
    tiny.classifier(folder / "delivery", ("late", "lost"), "bert", seed=2)
    tiny.encoder(folder / "encoder")
    (folder / "texts.txt").write_text("\n".join(tiny.texts(60)), encoding="utf-8")
    toy.labelled(folder / "validation.csv", 20)
    return {
        "teachers": [str(folder / "billing"), str(folder / "delivery")],
        "texts": str(folder / "texts.txt"),
        "student": {"model": str(folder / "encoder"), "layers": 1},
        "method": {"name": "muka", "passes": 4, "confidence": "percentile"},
        "training": {"epochs": 1, "max_length": 16, "batch_size": 32, "check_every": 100},
        "output": str(folder / "run"),
    }


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    values = write_all(folder)
    (folder / "recipe.yaml").write_text(yaml.safe_dump(values))
    run_recipe(parse(values, Recipe), report=False)
    return folder


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    """A copy of the finished run with its models and texts, which believes that it was made there."""
    shutil.copytree(base, tmp_path / "c", copy_function=shutil.copy2)
    for path in (tmp_path / "c" / "recipe.yaml", tmp_path / "c" / "run" / "recipe.yaml"):
        path.write_text(path.read_text().replace(str(base), str(tmp_path / "c")))
    return tmp_path / "c"


def again(folder: Path, changes: dict[str, Any] | None = None, **options: Any) -> RunFolder:
    values = yaml.safe_load((folder / "recipe.yaml").read_text()) | (changes or {})
    return run_recipe(parse(values, Recipe), report=False, **options)


def made(folder: Path) -> dict[str, bytes]:
    names = ("state.safetensors", "student/model.safetensors", "inputs.json")
    return {name: (folder / "run" / name).read_bytes() for name in names}


def retrained(folder: Path) -> None:
    tiny.classifier(folder / "billing", BILLING, "bert", seed=7)


def another_tokenizer(folder: Path) -> None:
    path = folder / "delivery" / "tokenizer.json"
    path.write_text(path.read_text().replace('"lowercase": true', '"lowercase": false').replace("Lowercase", "NFC"))


def another_encoder(folder: Path) -> None:
    tiny.encoder(folder / "encoder", seed=9)


def other_texts(folder: Path) -> None:
    (folder / "texts.txt").write_text("\n".join(tiny.texts(60, seed=3)), encoding="utf-8")


CHANGES: dict[Callable[[Path], None], str] = {
    retrained: "teachers.billing differ in content",
    another_tokenizer: "teachers.delivery differ in content",
    another_encoder: "student differ in content",
    other_texts: "texts differ in content",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same knowledge", "other knowledge"])
def test_what_a_student_was_made_of_has_changed_in_place(
    change: Callable[[Path], None], elsewhere: bool, folder: Path
) -> None:
    before = made(folder)
    change(folder)
    with pytest.raises(AlloyError, match=rf"{CHANGES[change]}(.|\n)*--overwrite"):
        again(folder, cache=folder / "other" if elsewhere else None)
    assert made(folder) == before


def test_overwrite_makes_fit_and_student_of_the_teacher_as_it_is_now(folder: Path) -> None:
    """As the messages say, one after another: --overwrite, then another `--cache`."""
    before = made(folder)
    retrained(folder)
    with pytest.raises(AlloyError, match=r"teacher 'billing' made with weights.*--cache"):
        again(folder, overwrite=True)
    again(folder, cache=folder / "other", overwrite=True)
    after = made(folder)
    assert not {name for name in before if before[name] == after[name]}
    again(folder, cache=folder / "other")
    assert made(folder) == after


def test_a_run_that_has_not_begun_to_train_is_fitted_anew(folder: Path) -> None:
    """It was stopped after the fit; then a teacher was trained anew."""
    before = made(folder)["state.safetensors"]
    shutil.rmtree(folder / "run" / "student")
    (folder / "run" / "metrics.json").unlink()
    retrained(folder)
    again(folder, cache=folder / "other")
    assert made(folder)["state.safetensors"] != before


def test_training_that_was_stopped_does_not_go_on_with_another_teacher(folder: Path) -> None:
    shutil.rmtree(folder / "run" / "student")
    (folder / "run" / "metrics.json").unlink()
    (folder / "run" / "training").mkdir()
    retrained(folder)
    with pytest.raises(AlloyError, match=r"teachers.billing differ"):
        again(folder, cache=folder / "other")


@pytest.mark.parametrize("record", ["{}", '{"texts": 1}'])
def test_what_is_not_recorded_cannot_be_the_same(record: str, folder: Path) -> None:
    (folder / "run" / "inputs.json").write_text(record)
    with pytest.raises(AlloyError, match=r"teachers: not recorded(.|\n)*--overwrite"):
        again(folder)


RECIPES: dict[str, dict[str, Any]] = {
    "inference.seed": {"inference": {"seed": 3}},
    "inference.tokens_per_batch": {"inference": {"tokens_per_batch": 128}},
    "inference.int8": {"inference": {"int8": True}},
    "method.passes": {"method": {"name": "muka", "passes": 8, "confidence": "percentile"}},
    "training.max_length": {"training": {"epochs": 1, "max_length": 8, "batch_size": 32, "check_every": 100}},
}


@pytest.mark.parametrize("name", RECIPES)
def test_settings_of_the_sweep(name: str, folder: Path) -> None:
    with pytest.raises(AlloyError, match=rf"{name}: was(.|\n)*--overwrite"):
        again(folder, RECIPES[name], cache=folder / "other")


def test_evaluation_with_other_teachers(folder: Path) -> None:
    retrained(folder)
    with pytest.raises(AlloyError, match=r"teachers.billing differ"):
        evaluate(folder / "run", folder / "validation.csv", cache=folder / "other")


def test_every_input_has_its_place(folder: Path) -> None:
    """Validation texts, generated texts and a frozen encoder too, which this run has not."""
    values = yaml.safe_load((folder / "recipe.yaml").read_text())
    prepared = prepare(parse(values, Recipe))
    a, b = (load_texts(tiny.texts(5, seed=seed)) for seed in (1, 2))
    plain = inputs_of(prepared)
    for validation, generated, name in ((a, None, "validation"), (None, a, "generated")):
        one = inputs_of(replace(prepared, validation=validation, generated=generated))
        two = inputs_of(replace(prepared, validation=validation and b, generated=generated and b))
        assert {key for key in plain if plain[key] != one[key]} == {name}
        assert {key for key in plain if two[key] != one[key]} == {name}
    with_states = replace(prepared, method=AskingForStates(prepared.method.options, str(folder / "encoder")))
    one = inputs_of(with_states)
    another_encoder(folder)
    two = inputs_of(with_states)
    assert {key for key in one if one[key] != two[key]} == {"student", "text_states"}
    fits = [fitted_to(prepared, plain, {"billing": {"sampling": {"sampler": s}}}) for s in ("bytes", "stock")]
    assert fits[0] != fits[1]


class AskingForStates(Muka):
    def __init__(self, options: Any, encoder: str) -> None:
        super().__init__(options)
        self.encoder = encoder

    @property
    def needs(self) -> Needs:
        return replace(super().needs, text_states=TextStates(self.encoder))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_encoder_that_is_no_teacher_reads_in_the_runs_precision(precision: str, folder: Path) -> None:
    values = yaml.safe_load((folder / "recipe.yaml").read_text()) | {"inference": {"precision": precision}}
    prepared = prepare(parse(values, Recipe))
    asking = replace(prepared, method=AskingForStates(prepared.method.options, str(folder / "encoder")))
    source = cast(Source, SimpleNamespace(rows=lambda indices: Rows(())))
    found = knowledge.with_text_states(asking, source, prepared.texts, folder, "some").rows(range(4)).text_states
    spec = ModelSpec(model=str(folder / "encoder"))
    encoder = TextEncoder(EncoderReading(spec, "cls", 16, 4096, "cpu", precision))  # type: ignore[arg-type]
    assert found is not None
    assert torch.equal(found, torch.cat(list(encoder.states(prepared.texts)))[:4])


def test_passes_drawn_in_another_way(folder: Path) -> None:
    """The sampler is known only after the sweep: the run is refused then."""
    run = RunFolder(folder / "run")
    knowledge = json.loads((run.folder / "inputs.json").read_text())["cache"]
    record_inputs(run, {"cache": knowledge})
    knowledge["billing"]["sampling"]["sampler"] = "other"
    with pytest.raises(AlloyError, match=r"cache.billing.sampling.sampler: was 'bytes', now 'other'"):
        record_inputs(run, {"cache": knowledge})


def test_a_folder_in_place_of_the_state(folder: Path) -> None:
    state = folder / "run" / "state.safetensors"
    state.unlink()
    state.mkdir()
    with pytest.raises(AlloyError, match=r"state.safetensors.*A folder is in the way"):
        again(folder)
    with pytest.raises(AlloyError, match=r"state.safetensors.*A folder is in the way"):
        evaluate(folder / "run", folder / "validation.csv")
