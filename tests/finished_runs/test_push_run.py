"""`alloykit push` against a stand-in of the hub: what is uploaded, what is not, and what a user reads when it fails."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from commandline import Call, Finished, write_csv
from hub_standin import READER, TOKEN, Hub, Repository, hub_standin
from huggingface_hub import ModelCard, constants

import alloykit
from alloykit.data import TextsOptions, load_texts

NAME = "my-team/tickets"
STUDENT = {
    "README.md", "SHA256SUMS", "config.json", "model.safetensors", "none_of_these.safetensors", "tokenizer.json", "tokenizer_config.json",
}  # fmt: skip


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    shutil.copytree(finished.folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with hub_standin() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield hub


def test_student_card_and_onnx_arrive_in_one_commit(hub: Hub, run: Path, call: Call) -> None:
    onnx = run / "export" / "onnx"
    onnx.mkdir(parents=True)
    (onnx / "model.onnx").write_bytes(b"onnx")
    (onnx / "SHA256SUMS").write_text(
        "names of files in the export's folder, which has another form than the repository"
    )
    (onnx / "config.json").write_text('{"model": "/home/somebody/secret/student", "label2id": {"a/b": 0}}')
    result = call("push", run, NAME, "--license", "mit", "--language", "en", "--language", "de", "--private")
    assert result.code == 0, result
    assert result.out == f"pushed: {hub.url}/{NAME}\n"
    there = hub.repositories[NAME]
    files = there.branches["main"]
    assert there.private
    assert there.commits == ["Student of copy, by alloykit"]
    assert set(files) == STUDENT | {"onnx/model.onnx", "onnx/config.json"}
    assert files["model.safetensors"] == (run / "student" / "model.safetensors").read_bytes()
    assert files["config.json"] == (run / "student" / "config.json").read_bytes()
    assert json.loads(files["onnx/config.json"]) == {"model": "student", "label2id": {"a/b": 0}}


def test_the_card_is_valid_and_says_where_the_student_is(hub: Hub, run: Path) -> None:
    metrics = json.loads((run / "metrics.json").read_text())
    metrics["warnings"].append(f"read {run.resolve()}/secret and {Path.home()}/file")
    (run / "metrics.json").write_text(json.dumps(metrics))
    found = alloykit.push(run, NAME, license="mit", languages=["en"])
    assert found["created"]
    assert found["commit"]
    text = hub.repositories[NAME].branches["main"]["README.md"].decode()
    data = ModelCard(text).data
    assert (data.license, data.language, data.model_name) == ("mit", ["en"], "copy")
    score = metrics["evaluation"]["scores"]["student"]
    accuracy = next(r for r in data.eval_results if r.metric_type == "accuracy")
    low, high = score["interval"]
    assert accuracy.metric_value == round(score["accuracy"], 4)
    assert accuracy.metric_name == f"Accuracy (95 % interval {low:.3f} to {high:.3f}, 40 texts)"
    assert f'model="{NAME}"' in text
    assert "this folder" not in text
    assert str(run.parent) not in text
    assert f"{Path.home()}/" not in text
    assert "read copy/secret and " in text


def test_outputs_and_texts_go_only_where_they_are_asked_for(hub: Hub, run: Path, call: Call) -> None:
    plain = call("push", run, NAME, "--dry-run")
    assert {line.split(":")[0] for line in plain.out.splitlines()[:-1]} == STUDENT
    full = alloykit.push(run, NAME, with_cache=True, with_texts=True, dry_run=True)
    paths = {file["path"] for file in full["files"]}
    assert {"outputs/manifest.json", "outputs/teachers/billing/teacher.json", "texts/train.csv"} < paths
    assert not [path for path in paths if "fingerprint" in path], "they name folders of this machine"
    assert not hub.requests, "a dry run asks the hub for nothing"
    shutil.rmtree(run / "cache")
    call("push", run, NAME, "--dry-run", "--with-cache").refused("--with-cache", "the teachers' outputs")


@pytest.mark.slow
def test_a_second_push_replaces_the_first(hub: Hub, run: Path, call: Call) -> None:
    hub.repositories[NAME] = there = Repository(private=False)
    there.branches["main"] = {"onnx/model.onnx": b"of another student", "notes.txt": b"mine"}
    assert call("push", run, NAME).code == 0, "it exists already"
    assert set(there.branches["main"]) == STUDENT | {"notes.txt"}
    sent = len([r for r in hub.requests if r.startswith("PUT")])
    assert call("push", run, NAME, "--branch", "v2").code == 0
    assert set(there.branches["v2"]) == STUDENT | {"notes.txt"}
    assert len([r for r in hub.requests if r.startswith("PUT")]) == sent, "the hub has the weights already"
    call("push", run, NAME, "--private").refused("a private repository", "a public one")


@pytest.mark.slow
def test_what_a_user_reads_when_it_fails(hub: Hub, run: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.perf_counter()
    monkeypatch.setenv("HF_TOKEN", "hf_old")
    call("push", run, NAME).refused("does not accept the token", "hf auth login")
    monkeypatch.setenv("HF_TOKEN", READER)
    call("push", run, NAME).refused("may not write to the repositories of 'my-team'")
    monkeypatch.delenv("HF_TOKEN")
    call("push", run, NAME).refused("a token of the hub that may write", "HF_TOKEN")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    call("push", run, NAME, "--license", "my-own").refused('"license" must be one of', "--license")
    hub.fail = lambda path: 409 if "/commit/" in path else None
    call("push", run, NAME).refused("error 409", "Run the same command again")
    hub.fail = lambda path: 0 if "/commit/" in path else None
    call("push", run, NAME).refused("cannot be reached", "nothing was changed")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the port of `discard`, where nobody listens
    refused = call("push", run, NAME)
    refused.refused("cannot be reached", "HF_ENDPOINT")
    assert "retry" not in refused.err.lower()
    assert hub.repositories[NAME].branches["main"] == {}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    call("push", run, NAME).refused("HF_HUB_OFFLINE")
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize("name", ["tickets", "a/b/c", "my team/x", "/tmp/x"])
def test_a_name_that_is_no_repository(name: str, run: Path, call: Call) -> None:
    call("push", run, name).refused("owner/name")


def test_a_folder_without_a_student(run: Path, call: Call, tmp_path: Path) -> None:
    call("push", tmp_path, NAME).refused("a run folder")
    shutil.rmtree(run / "student")
    call("push", run, NAME, "--dry-run").refused("a finished run with a student")


@pytest.mark.slow
def test_killed_between_weights_and_commit_nothing_is_half_there(hub: Hub, run: Path, call: Call) -> None:
    def kill(path: str) -> int | None:
        if "/commit/" not in path:
            return None
        process.kill()
        return 0

    hub.fail = kill
    process = multiprocessing.get_context("fork").Process(target=call, args=("push", run, NAME))
    process.start()
    process.join(60)
    assert process.exitcode == -9
    assert hub.blobs
    assert hub.repositories[NAME].branches["main"] == {}
    hub.fail = lambda _: None
    sent = hub.requests.copy()
    assert call("push", run, NAME).code == 0
    assert set(hub.repositories[NAME].branches["main"]) == STUDENT
    assert not [r for r in hub.requests[len(sent) :] if r.startswith("PUT")]


@pytest.mark.parametrize("place", ["student/notes.txt", "student/onnx", "export"])
def test_a_link_out_of_the_run_is_not_uploaded(place: str, hub: Hub, run: Path, call: Call, tmp_path: Path) -> None:
    """A run from somebody else must not publish a file of the user's."""
    private = tmp_path / "private"
    (private / "onnx").mkdir(parents=True)
    (private / "onnx" / "key.txt").write_text("secret")
    link = run / place
    link.symlink_to(private / "onnx" / "key.txt" if place.endswith(".txt") else private)
    if place == "student/onnx":  # a link to a folder, which is not followed
        found = alloykit.push(run, NAME)
        assert not any("key.txt" in file["path"] for file in found["files"])
    else:
        call("push", run, NAME).refused("only files of", "a link to", "key.txt")
        assert not hub.repositories.get(NAME)


def with_texts_of(run: Path, texts: Any) -> None:
    values = yaml.safe_load((run / "recipe.yaml").read_text())
    (run / "recipe.yaml").write_text(yaml.safe_dump(values | {"texts": texts}))


def texts_of(run: Path) -> dict[str, int]:
    files = alloykit.push(run, NAME, with_texts=True, dry_run=True)["files"]
    return {file["path"]: file["bytes"] for file in files if file["path"].startswith("texts/")}


def test_only_files_that_the_run_read_are_uploaded(run: Path, call: Call, tmp_path: Path) -> None:
    """The recipe of somebody else's run may name a private file."""
    pool = Path(yaml.safe_load((run / "recipe.yaml").read_text())["texts"]["path"])
    private = write_csv(tmp_path / "private.csv", [["my key"]])
    with_texts_of(run, {"path": str(private)})
    call("push", run, NAME, "--dry-run", "--with-texts").refused(
        "the files that", "other texts", "private.csv", "leave out"
    )
    with_texts_of(run, {"path": str(pool), "more": [{"path": str(private)}]})
    call("push", run, NAME, "--dry-run", "--with-texts").refused("other texts", str(pool), "private.csv")
    with_texts_of(run, {"path": str(pool), "limit": 300})
    call("push", run, NAME, "--dry-run", "--with-texts").refused("only the first rows")
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(pool, folder)
    (folder / "notes.pdf").write_bytes(b"not read")
    with_texts_of(run, {"path": str(folder)})
    assert set(texts_of(run)) == {f"texts/folder/{pool.name}"}


def test_the_folder_of_generated_texts_is_no_link(run: Path, call: Call, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "key.txt").write_text("secret")
    (run / "generated").symlink_to(private)
    call("push", run, NAME, "--dry-run", "--with-texts").refused("only files of", "a link to", "key.txt")


def test_files_of_texts_with_the_same_name(run: Path, call: Call, tmp_path: Path) -> None:
    texts = ["one text", "another text", "a third text"]
    places = [tmp_path / str(i) / "x.csv" for i in range(3)]
    for i, place in enumerate(places):
        place.parent.mkdir()
        write_csv(place, [[text] for text in texts[: i + 1]])
    names = [str(place) for place in places]
    with_texts_of(run, {"path": names[0], "more": [{"path": name} for name in names[1:]]})
    inputs = json.loads((run / "inputs.json").read_text())
    read = load_texts(TextsOptions(path=names[0], more=names[1:]))  # type: ignore[arg-type]
    (run / "inputs.json").write_text(json.dumps(inputs | {"texts": read.fingerprint()}))
    sizes = [place.stat().st_size for place in places]
    assert texts_of(run) == dict(zip(("texts/x.csv", "texts/2-x.csv", "texts/3-x.csv"), sizes, strict=True))
    clash = places[1].rename(tmp_path / "2-x.csv")
    shutil.copy(clash, places[1])
    with_texts_of(run, {"path": names[0], "more": [{"path": name} for name in (names[1], str(clash))]})
    read = load_texts(TextsOptions(path=names[0], more=[names[1], str(clash)]))  # type: ignore[arg-type]
    (run / "inputs.json").write_text(json.dumps(inputs | {"texts": read.fingerprint()}))
    call("push", run, NAME, "--dry-run", "--with-texts").refused("different names", "texts/2-x.csv")
