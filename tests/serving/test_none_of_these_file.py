"""`none of these` of a real run: foreign texts are more unusual, one pass gives everything, and the file is written, missed and refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch
from commandline import Call, Finished, collect
from toy import FILLERS, examples
from transformers import AutoModelForSequenceClassification

import alloykit
from alloykit.errors import AlloyError
from alloykit.models.folder import NONE_OF_THESE
from alloykit.models.head_input import HeadInput
from alloykit.serving.predictor import Predictor
from alloykit.serving.student_reading import read_by_student
from alloykit.stats.none_of_these import UNUSUAL, NoneOfThese

OWN = [text for text, _ in examples(60, seed=31)]
FOREIGN = [" ".join(FILLERS[(i + k) % len(FILLERS)] for k in range(2 + i % 4)) for i in range(30)]  # words of no label


@pytest.fixture(scope="module")
def predictor(finished: Finished) -> Predictor:
    return Predictor.load(finished.folder / "student")


@pytest.fixture
def copy(finished: Finished, tmp_path: Path) -> Path:
    """The finished run in a folder of this test, with its recipe."""
    run = shutil.copytree(finished.folder, tmp_path / "run", copy_function=shutil.copy2)
    (tmp_path / "recipe.yaml").write_text(finished.recipe.read_text().replace(str(finished.folder), str(run)))
    return run


def test_texts_of_no_label_are_more_unusual(predictor: Predictor) -> None:
    own, foreign = (predictor.predict(t, none_of_these=True).none_of_these for t in (OWN, FOREIGN))
    assert own is not None
    assert foreign is not None
    for scores in (own, foreign):
        assert bool(((scores >= 0) & (scores < 1)).all())
    auroc = float((foreign[:, None] > own[None]).double().mean())
    assert auroc > 0.8
    assert float((own >= 0.95).double().mean()) < 0.3


def test_one_pass_gives_both_and_the_probabilities_do_not_change(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, read = predictor.probabilities(OWN), []
    forward = predictor.model.forward
    monkeypatch.setattr(predictor.model, "forward", lambda **b: read.append(len(b["input_ids"])) or forward(**b))
    found = predictor.predict(OWN, none_of_these=True)
    assert sum(read) == len(OWN)
    assert found.probabilities.equal(plain)
    assert predictor.predict(OWN).none_of_these is None


def test_the_score_of_the_heads_input(predictor: Predictor, finished: Finished) -> None:
    """From the file and the model alone."""
    fitted = NoneOfThese.of(safetensors.torch.load_file(finished.folder / "student" / NONE_OF_THESE))
    ids = predictor.tokenizer(OWN[:5], padding=True, truncation=True, max_length=32, return_tensors="pt")
    with torch.no_grad():
        states = predictor.model.bert(**ids).pooler_output
        logits = predictor.model.classifier(states).double()
    assert not bool(fitted.multi_label)
    measures = torch.stack([fitted.gaussians.distance(states), 1 / logits.exp().sum(-1)], -1)
    expected = fitted.score(measures)
    found = predictor.predict(OWN[:5], none_of_these=True).none_of_these
    assert found is not None
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-4)


def test_python_and_the_command_say_the_same(finished: Finished, call: Call) -> None:
    texts = [OWN[0], "", FOREIGN[0]]
    lines = call("predict", finished.folder, "--none-of-these", stdin="\n".join(texts)).lines
    run = alloykit.Run(finished.folder)
    both = run.predict([OWN[0], FOREIGN[0]], none_of_these=True)
    assert [lines[0]["none_of_these"], lines[2]["none_of_these"]] == pytest.approx(
        [answer["none_of_these"] for answer in both], abs=1e-5
    )
    assert lines[0]["none_of_these"] < lines[2]["none_of_these"]
    assert "none_of_these" not in lines[1]
    assert run.predict(FOREIGN[0], none_of_these=True)["none_of_these"] == pytest.approx(
        both[1]["none_of_these"], abs=1e-6
    )
    assert set(run.predict(FOREIGN[0])) == {"label", "probability"}
    from_python = list(alloykit.predict(finished.folder, [OWN[0], FOREIGN[0]], none_of_these=True))
    assert [a["none_of_these"] for a in from_python] == pytest.approx([a["none_of_these"] for a in both], abs=1e-5)


def test_report_and_card_tell_of_it(finished: Finished) -> None:
    view = json.loads((finished.folder / "metrics.json").read_text())["student"]["none_of_these"]
    assert view["unseen"] is True
    assert view["texts"] >= 10
    shares = [entry["none_of_these"] for entry in view["most_unusual"]]
    assert shares == sorted(shares, reverse=True)
    page = (finished.folder / "report.html").read_text()
    assert "Most unusual texts" in page
    assert f"{shares[0]:.3f}" in page
    assert "predict --none-of-these" in (finished.folder / "student" / "README.md").read_text()


def test_transformers_loads_the_same_weights(finished: Finished, predictor: Predictor) -> None:
    plain, report = AutoModelForSequenceClassification.from_pretrained(
        finished.folder / "student", output_loading_info=True
    )
    assert not report["unexpected_keys"]
    assert not report["missing_keys"]
    for name, tensor in plain.state_dict().items():
        assert tensor.equal(predictor.model.state_dict()[name])


@pytest.mark.slow
def test_a_missing_file_is_said_and_a_second_run_of_the_recipe_writes_the_same_bytes(copy: Path, call: Call) -> None:
    file = copy / "student" / NONE_OF_THESE
    before = file.read_bytes()
    file.unlink()
    assert call("predict", copy, stdin=OWN[0]).code == 0
    result = call("predict", copy, "--none-of-these", stdin=OWN[0])
    collect("predict: no file for none of these", result)
    result.refused(NONE_OF_THESE, "Run the recipe again")
    assert call("amalgamate", copy.parent / "recipe.yaml").code == 0
    assert file.read_bytes() == before
    file.write_bytes(before[:1000])
    assert call("amalgamate", copy.parent / "recipe.yaml").code == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage", ["bytes", "values", "tensors", "width"])
def test_a_damaged_file_and_that_of_another_student(
    damage: str, finished: Finished, tmp_path: Path, call: Call
) -> None:
    student = shutil.copytree(finished.folder / "student", tmp_path / "student")
    file = student / NONE_OF_THESE
    tensors = safetensors.torch.load_file(file)
    if damage == "bytes":
        file.write_bytes(file.read_bytes()[:1000])
    elif damage == "values":
        content = bytearray(file.read_bytes())
        content[-5] ^= 0xFF
        file.write_bytes(content)
    elif damage == "tensors":
        safetensors.torch.save_file({k: v for k, v in tensors.items() if k != "reference"}, file)
    else:
        states = torch.randn(40, 7, generator=torch.Generator().manual_seed(0))
        other = NoneOfThese.fit(states, torch.arange(40) % 3, torch.arange(40) % 2 == 0, torch.nn.Linear(7, 3))
        assert other is not None
        safetensors.torch.save_file({k: v.contiguous() for k, v in other.state().items()}, file)
    result = call("predict", student, "--none-of-these", stdin=OWN[0])
    result.refused(NONE_OF_THESE, "Without the file all but this score works")
    assert call("predict", student, stdin=OWN[0]).code == 0


def test_a_teacher_has_none(models: dict[str, Path], call: Call) -> None:
    call("predict", models["billing"], "--none-of-these", stdin=OWN[0]).refused(NONE_OF_THESE, "students of alloykit")


def test_a_classifier_in_memory_has_none(predictor: Predictor) -> None:
    loose = Predictor(predictor.model, predictor.tokenizer, 32)
    with pytest.raises(AlloyError, match="in memory"):
        loose.predict(OWN[:2], none_of_these=True)


def test_a_model_whose_head_gives_no_states(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities, states = predictor.with_states(OWN[:4])
    assert states is not None
    assert states.shape == (4, HeadInput(predictor.model).width)
    monkeypatch.setattr(predictor.model.config, "num_labels", 97)  # no layer has as many outputs
    monkeypatch.setattr(predictor, "head_input", HeadInput(predictor.model))
    again, none = predictor.with_states(OWN[:4])
    assert none is None
    assert again.equal(probabilities)


@pytest.mark.parametrize("states", [False, True])
def test_watch_and_suggest_read_the_same_score(predictor: Predictor, states: bool) -> None:
    found = read_by_student(predictor, [*OWN, *FOREIGN], states=states)
    wanted = predictor.predict([*OWN, *FOREIGN], none_of_these=True)
    assert wanted.none_of_these is not None
    assert found.foreign is not None
    assert found.foreign.tolist() == (wanted.none_of_these >= UNUSUAL).tolist()
    assert 0 < int(found.foreign.sum()) < len(found.foreign)
    torch.testing.assert_close(found.probabilities, wanted.probabilities)
    assert (found.states is not None) == states
