"""No folder of a model makes alloykit run code, unpickle, ask a question or open a connection."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
import tiny
from hostile import HARMLESS, LABELS, REFUSED, edit, reached, unknown_model
from sources import parsed

import alloykit
from alloykit import AlloyError
from alloykit.blocks import ModelSpec
from alloykit.models import loading
from alloykit.models.loading import load_classifier
from alloykit.serving.predictor import Predictor
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info

__all__ = ["reached"]
SOURCE = Path(alloykit.__file__).parent


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.classifier(tmp_path_factory.mktemp("clean") / "model", LABELS)


@pytest.fixture
def folder(clean: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clean, tmp_path / "model"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_that_asks_for_more_than_safetensors_is_refused(name: str, folder: Path, reached: list[str]) -> None:
    spoil, words = REFUSED[name]
    spoil(folder)
    with pytest.raises(AlloyError, match=words):
        Predictor.load(folder)
    if name != "a huge model":  # which shows when it is built
        with pytest.raises(AlloyError, match=words):
            read_teacher_info(HuggingFaceSpec(model=str(folder)), "x")
    assert reached == []
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("name", HARMLESS)
def test_what_names_code_is_ignored_where_the_model_needs_none(
    name: str, folder: Path, clean: Path, reached: list[str]
) -> None:
    HARMLESS[name](folder)
    found = Predictor.load(folder, device="cpu").probabilities(["refund the card", "y"])
    assert reached == []
    assert not (folder / "ran").exists()
    if name != "a tokenizer that nobody registered":  # which is of another model
        assert found.equal(Predictor.load(clean, device="cpu").probabilities(["refund the card", "y"]))


def test_code_runs_only_when_it_is_trusted(folder: Path) -> None:
    """The same folder, with and without the word: so the tests above could have found code that ran."""
    unknown_model(folder)
    with pytest.raises(AlloyError, match="--trust-remote-code"):
        load_classifier(ModelSpec(model=str(folder)))
    assert not (folder / "ran").exists()
    with pytest.raises(AlloyError):  # its classes are empty
        load_classifier(ModelSpec(model=str(folder), trust_remote_code=True))
    assert (folder / "ran").exists()


def test_the_size_of_a_model_is_computed_once_for_each_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, real = [], loading._meta_model
    monkeypatch.setattr(loading, "_meta_model", lambda *told: (built.append(told), real(*told))[1])
    monkeypatch.setattr(loading, "_SIZES", {})
    monkeypatch.setattr(loading, "SLACK", 0)
    for _ in range(2):
        load_classifier(ModelSpec(model=str(folder)))
    assert len(built) == 1
    edit(folder, vocab_size=20_000)
    for _ in range(2):
        with pytest.raises(AlloyError, match="by its config.json"):
            load_classifier(ModelSpec(model=str(folder)))
    assert len(built) == 2


def test_a_file_is_no_model(folder: Path) -> None:
    for file in ("config.json", "model.safetensors"):
        with pytest.raises(AlloyError, match="which is a file"):
            read_teacher_info(HuggingFaceSpec(model=str(folder / file)), "x")


def test_links_within_the_hub_s_cache_are_followed(folder: Path, tmp_path: Path) -> None:
    """Its snapshots are links to files in a folder beside them."""
    blobs, snapshot = tmp_path / "models--o--n" / "blobs", tmp_path / "models--o--n" / "snapshots" / ("a" * 40)
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for file in folder.iterdir():
        shutil.move(file, blobs / file.name)
        (snapshot / file.name).symlink_to(blobs / file.name)
    assert Predictor.load(snapshot).labels == LABELS


def test_the_temporary_copy_leaves_no_trace(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    model, tokenizer = load_classifier(ModelSpec(model=str(folder)))
    assert list(place.iterdir()) == []
    assert model.config._name_or_path == model.name_or_path == str(folder)
    tokenizer.save_pretrained(tmp_path / "saved")
    assert str(place) not in (tmp_path / "saved" / "tokenizer_config.json").read_text()


def test_a_folder_that_changes_meanwhile_is_read_as_it_was_checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its small files are copied once. The weights are a link, so this says nothing of them."""
    checked = loading.checked_weights

    def change(place: Path, model: str) -> list[Path]:
        files = checked(place, model)
        edit(folder, "tokenizer_config.json", model_max_length=7)
        return files

    before = load_classifier(ModelSpec(model=str(folder)))[1].model_max_length
    monkeypatch.setattr(loading, "checked_weights", change)
    assert load_classifier(ModelSpec(model=str(folder)))[1].model_max_length == before != 7
    assert load_classifier(ModelSpec(model=str(folder)))[1].model_max_length == 7


@pytest.mark.parametrize("sub", ["text_config", "vision_config"])
def test_parts_of_a_configuration_are_cleaned_too(sub: str, folder: Path) -> None:
    from alloykit.models.checked_config import checked_config

    edit(folder, **{sub: {"auto_map": {"AutoModel": "own.Own"}, "_attn_implementation": "a/b", "width": 3}})
    assert checked_config(folder, "x")[sub] == {"width": 3}


def test_nothing_is_loaded_elsewhere() -> None:
    """`from_pretrained` is called in one place; a model is built from a configuration nowhere without saying whose code may run."""
    calls = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and node.attr in ("from_pretrained", "from_config"):
                calls.append((str(path.relative_to(SOURCE)), node.attr))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "from_config":
                assert any(word.arg == "trust_remote_code" for word in node.keywords)
            assert not (isinstance(node, ast.Attribute) and node.attr == "load" and ast.unparse(node) == "torch.load")
    assert sorted(calls) == [
        ("models/loading.py", "from_config"),
        ("models/loading.py", "from_pretrained"),
        ("testing/tiny.py", "from_config"),  # of a configuration that it makes itself
    ]
