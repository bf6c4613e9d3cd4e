"""The server over real HTTP: answers, errors, limits, metrics and pages."""

from __future__ import annotations

import re
import shutil
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import safetensors.torch
from commandline import Call, Finished
from pydantic import ValidationError
from running import Fake, Running, running

from alloykit.commands.serve import serve
from alloykit.errors import AlloyError
from alloykit.finished_runs.explain_text import TextExplainer
from alloykit.models.folder import NONE_OF_THESE
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.web.guard import Guard
from alloykit.web.predict_request import PredictRequest
from alloykit.web.refused import Refused
from alloykit.web.run_server import listen
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_metrics import ServerMetrics

EVEN, ODD = "even", "odd"


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def site(fake: Fake) -> Iterator[Running]:
    with running(fake, texts_per_request=3, characters=50, queue=3, name="<b>toy</b>") as found:
        yield found


def labels(reply: object) -> list[str]:
    return [entry["label"] for entry in reply]  # type: ignore[attr-defined]


def test_the_shapes_of_text_embeddings_inference(site: Running) -> None:
    one = site.post("/predict", {"inputs": "ab"})
    assert one.status == 200
    assert one.json == [{"score": 0.75, "label": EVEN}, {"score": 0.25, "label": ODD}]
    assert labels(site.post("/predict", {"inputs": "abc"}).json) == [ODD, EVEN], "the highest score first"
    assert site.post("/predict", {"inputs": ["ab"]}).json == one.json
    assert site.post("/predict", {"inputs": ["ab", "second"]}).json == one.json, "a pair is one text"
    batch = site.post("/predict", {"inputs": [["abc"], ["ab", "x"]]}).json
    assert [labels(found)[0] for found in batch] == [ODD, EVEN]
    assert site.post("/predict", {"inputs": "ab", "raw_scores": True}).json[0] == {"score": 7.5, "label": EVEN}


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"inputs": ""}, 400, "Empty"),
        ({"inputs": [["a text"], [" ", "a pair"]]}, 400, "Empty"),
        ({"inputs": "a\0b"}, 422, "Validation"),
        ({"inputs": [["a"]] * 4}, 413, "Validation"),
        ({"inputs": "a" * 51}, 413, "Validation"),
        ({"inputs": "a " * 9, "truncate": False}, 413, "Validation"),
        ({"inputs": []}, 422, "Validation"),
        ({"inputs": ["a", "b", "c"]}, 422, "Validation"),
        ({"inputs": [["a"], "b"]}, 422, "Validation"),
        ({"inputs": 5}, 422, "Validation"),
        ({}, 422, "Validation"),
        (b"{", 422, "Validation"),
        (b'{"inputs": "\xff"}', 422, "Validation"),
        (b"[" * 100_000, 422, "Validation"),
        (b'{"inputs": ' + b"1" * 10_000 + b"}", 422, "Validation"),
        (b'{"inputs": "\\ud800"}', 422, "Validation"),
        ({"inputs": "a", "truncation_direction": "left"}, 422, "Validation"),
        ({"inputs": "poison"}, 424, "Backend"),
        (b" " * 2_000_001, 413, "Validation"),
    ],
)
def test_an_error_has_the_codes_of_text_embeddings_inference(
    site: Running, body: object, status: int, kind: str
) -> None:
    reply = site.post("/predict", body)
    assert (reply.status, reply.json["error_type"]) == (status, kind)
    assert set(reply.json) == {"error", "error_type"}
    assert reply.json["error"]
    assert site.post("/predict", {"inputs": "ab"}).status == 200


@pytest.mark.parametrize("wrong", [1, [], ["a", "b", "c"], [1], "\ud800", ["\ud800"]])
def test_a_batch_of_wrong_lists_is_read_up_to_the_first(wrong: object) -> None:
    """An error takes longer than the list it is about: a body of 900,000 of them kept the server busy for more than 20 seconds."""
    for inputs in ([wrong] * 1000, [[wrong] * 1000]):
        with pytest.raises(ValidationError) as found:
            PredictRequest.model_validate({"inputs": inputs})
        assert found.value.error_count() <= 5, "at most two for each form of `inputs`"


@pytest.mark.parametrize("body", [b'{"text": "\\ud800"}', b'{"text": "a", "pair": "\\udc00"}'])
def test_halves_of_surrogate_pairs_are_no_text_to_explain(site: Running, body: bytes) -> None:
    assert site.post("/explain", body).status == 422


def test_an_unknown_method_names_those_that_a_path_has(site: Running) -> None:
    reply = site.get("/predict")
    assert (reply.status, reply.headers["allow"], reply.headers["content-type"]) == (405, "POST", "application/json")


@pytest.mark.parametrize("path", ["/health", "/info", "/"])
def test_head_is_get_without_a_body(site: Running, path: str) -> None:
    head, whole = site.ask("HEAD", path, None, {}), site.get(path)
    assert (head.status, head.text) == (200, "")
    assert [head.headers.get(name) for name in ("content-type", "content-length")] == [
        whole.headers.get(name) for name in ("content-type", "content-length")
    ]
    assert site.ask("HEAD", "/predict", None, {}).status == 405


def test_a_length_of_thousands_of_digits_is_too_large() -> None:
    """Python's `int` refuses it."""
    guard = Guard(None, options=ServeOptions(), metrics=ServerMetrics(), routes=())
    with pytest.raises(Refused) as error:
        guard._check({"headers": [(b"host", b"127.0.0.1"), (b"content-length", b"9" * 5_000)]})
    assert error.value.status == 413


def test_a_long_text_is_cut_and_counted(site: Running) -> None:
    assert site.post("/predict", {"inputs": "a " * 9}).status == 200
    assert site.post("/explain", {"text": "a " * 9}).json["truncated"]
    assert not site.post("/explain", {"text": "a " * 8}).json["truncated"]
    assert "alloykit_truncated_texts_total 2.0" in site.get("/metrics").text


def test_over_the_limit_it_says_503_and_recovers(site: Running, fake: Fake) -> None:
    fake.gate.clear()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(site.post, "/predict", {"inputs": "ab"})
        assert fake.entered.wait(20)  # one is read, three wait, and there is no place for more
        waiting = [pool.submit(site.post, "/predict", {"inputs": [["abc"]] * 3})]
        while "alloykit_queue_texts 3.0" not in site.get("/metrics").text:
            pass
        refused = [site.post("/predict", {"inputs": "ab"}) for _ in range(3)]
        assert [(r.status, r.json["error_type"]) for r in refused] == [(503, "Overloaded")] * 3
        assert all(r.headers["retry-after"] == "1" for r in refused)
        assert site.get("/health").status == 200
        fake.gate.set()
        assert labels(first.result().json) == [EVEN, ODD]
        assert [labels(found)[0] for found in waiting[0].result().json] == [ODD] * 3
    assert site.post("/predict", {"inputs": "ab"}).status == 200
    assert 'alloykit_requests_total{route="/predict",status="503"} 3.0' in site.get("/metrics").text


def test_texts_of_several_clients_share_a_batch_and_fail_alone() -> None:
    fake = Fake()
    fake.gate.clear()
    with running(fake, batch=8, wait_ms=0) as site, ThreadPoolExecutor(8) as pool:
        first = pool.submit(site.post, "/predict", {"inputs": "first"})
        assert fake.entered.wait(20)
        texts = ["ab", "abc", "poison", "abcd", "abcde"]
        found = [pool.submit(site.post, "/predict", {"inputs": text}) for text in texts]
        while "alloykit_queue_texts 5.0" not in site.get("/metrics").text:
            pass
        fake.gate.set()
        replies = [one.result() for one in found]
        assert first.result().status == 200
    assert [r.status for r in replies] == [200, 200, 424, 200, 200]
    assert [labels(r.json)[0] for r in replies if r.status == 200] == [EVEN, ODD, EVEN, ODD]
    assert fake.seen[:2] == [1, 5]


def test_a_request_that_was_accepted_is_answered_when_the_server_stops() -> None:
    fake = Fake()
    fake.gate.clear()
    with ThreadPoolExecutor(1) as pool, running(fake) as site:
        found = pool.submit(site.post, "/predict", {"inputs": "abc"})
        assert fake.entered.wait(20)
        site.server.should_exit = True
        threading.Timer(0.2, fake.gate.set).start()
        assert labels(found.result().json) == [ODD, EVEN]


def test_a_request_that_takes_too_long_is_given_up() -> None:
    fake = Fake()
    fake.gate.clear()
    with running(fake, timeout=0.1) as site:
        reply = site.post("/predict", {"inputs": "abc"})
        assert (reply.status, reply.json["error_type"]) == (503, "Overloaded")
        fake.gate.set()


def test_only_this_machine_by_its_own_names(site: Running) -> None:
    assert site.get("/health", Host="localhost:1").status == 200
    assert site.get("/health", Host="[::1]:1").status == 200
    assert site.get("/health", Host="rebound.example").status == 421
    with running(Fake(), allowed_hosts=("inner.example",)) as other:
        assert other.get("/health", Host="inner.example").status == 200


def test_the_pages_load_nothing_from_elsewhere_and_escape_names(site: Running) -> None:
    for path in ("/", "/docs"):
        page = site.get(path)
        assert page.status == 200
        assert "&lt;b&gt;toy&lt;/b&gt;" in page.text
        assert "<b>toy" not in page.text
        links = re.findall(r'(?:src|href)="([^"]*)"', page.text)
        assert links
        assert all(link.startswith("/") and not link.startswith("//") for link in links)
        assert all(site.get(link).status == 200 for link in links)
        assert not re.search(r"<style|<script>|style=|\son\w+=", page.text), "the policy forbids code in the page"
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "*" not in policy
    assert "/predict" in site.get("/openapi.json").json["paths"]
    assert "POST /predict" in site.get("/docs").text
    assert site.get("/assets/../secret").status == 404
    assert site.get("/info").json["model_type"]["classifier"]["id2label"] == {"0": EVEN, "1": ODD}


def test_a_folder_whose_name_is_not_utf8_has_all_pages() -> None:
    with running(Fake(), name="toy \udcff") as other:
        pages = [other.get(path) for path in ("/", "/docs", "/info", "/openapi.json")]
    assert [page.status for page in pages] == [200] * 4
    assert pages[2].json["model_id"] == "toy \\udcff"


def test_the_answers_of_a_real_student_are_those_of_predict(finished: Finished) -> None:
    student = Predictor.load(finished.folder / "student")
    texts = ["please refund my money", "the parcel is late again", "broken box"]
    expected = student.probabilities(texts)
    explainer = TextExplainer(RunFolder(finished.folder))
    with running(student, explainer=explainer) as site:
        found = site.post("/predict", {"inputs": [[text] for text in texts]}).json
        for reply, row in zip(found, expected, strict=True):
            assert reply[0]["label"] == student.labels[int(row.argmax())]
            assert {e["label"]: e["score"] for e in reply} == pytest.approx(
                dict(zip(student.labels, row.tolist(), strict=True)), abs=1e-5
            )
        answer = site.post("/explain", {"text": texts[0]}).json
        assert answer["student"][0]["scores"][0]["label"] == found[0][0]["label"]
        assert answer["teachers"] is None
        assert "--teachers" in answer["why_no_teachers"]


def test_the_target_of_a_text_of_the_pool_and_of_another(finished: Finished) -> None:
    lines = (finished.recipe.parent.parent / "taught" / "train.csv").read_text().splitlines()
    text = lines[1].split(",")[0]
    stored = TextExplainer(RunFolder(finished.folder)).explain(text)
    assert stored is not None
    assert stored.origin == "stored"
    assert [t.name for t in stored.teachers] == ["billing", "delivery"]
    assert stored.target is not None
    assert sum(stored.target.values()) == pytest.approx(1, abs=1e-5)
    for teacher in stored.teachers:
        assert sum(teacher.probabilities.values()) == pytest.approx(1, abs=1e-5)
    asking = TextExplainer(RunFolder(finished.folder), teachers=True)
    computed = asking.explain("where is my parcel, it is late")
    assert computed is not None
    assert computed.origin == "computed"
    bare = Predictor.load(asking.prepared.infos[1].spec.model, 32).probabilities(["where is my parcel, it is late"])[0]
    assert list(computed.teachers[1].probabilities.values()) == pytest.approx(bare.tolist(), abs=1e-2)  # bfloat16


def test_the_body_of_an_answer_does_not_wait_for_the_client() -> None:
    with listen(ServeOptions(port=0)) as place, socket.create_connection(place.getsockname()):
        place.setblocking(True)
        connection, _ = place.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_cannot_be_served_is_refused(
    models: dict[str, Path], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("serve", tmp_path, "--port", 0).refused("a run folder with a student, or a model folder")
    call("serve", models["billing"], "--port", 0, "--teachers").refused("a run folder, for --teachers")
    call("serve", models["billing"], "--queue", 4).refused("--queue of at least 32", "--texts-per-request")
    call("serve", models["billing"], "--batch", 0).refused("--batch of at least 1")
    call("serve", models["billing"], "--host", "192.0.2.1").refused("an address of this machine")
    with listen(ServeOptions(port=0)) as place:
        port = place.getsockname()[1]
        call("serve", models["billing"], "--port", port).refused(f"port {port}, which another program uses", "--port 0")
    monkeypatch.setattr("alloykit.commands.serve.find_spec", lambda name: None)
    call("serve", models["billing"]).refused("extra `serve`", "fastapi", "pip install")


def test_a_damaged_file_for_none_of_these_is_refused_at_the_start(finished: Finished, tmp_path: Path) -> None:
    student = shutil.copytree(finished.folder / "student", tmp_path / "student")
    file = student / NONE_OF_THESE
    tensors = safetensors.torch.load_file(file)
    del tensors["weight"]  # earlier versions did not write it
    safetensors.torch.save_file(tensors, file)
    with pytest.raises(AlloyError, match=rf"{NONE_OF_THESE}.*no tensor 'weight'.*Without the file"):
        serve(student, port=0, ready=lambda address: pytest.fail(f"it serves at {address}"))


def test_the_image_names_files_and_options_that_exist() -> None:
    root = Path(__file__).parents[2]
    lines = (root / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]
    assert copied
    assert all((root / name).exists() for name in copied)
    assert [line for line in lines if line.startswith("USER")] == ["USER alloykit"]
    assert 'ENTRYPOINT ["alloykit", "serve"]' in lines
    with pytest.raises(AlloyError):
        ServeOptions(port=70000)


@pytest.mark.parametrize("host", ["a" * 70, "..", "a b"])
def test_hosts_that_nobody_can_have(host: str) -> None:
    with pytest.raises(AlloyError, match="an address of this machine"):
        listen(ServeOptions(host=host, port=0))
