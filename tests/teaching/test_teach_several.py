"""`alloykit teach --together`: encoders under one head, their folders, and students made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from labelled_texts import LABELS, TRAINING, arguments, table
from transformers import AutoModelForSequenceClassification

import alloykit
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, LossInputs, Phase, StudentOutput
from alloykit.outputs import Rows
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.teacher_recipes import TogetherRecipe
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
from alloykit.teachers.protocol import Reading
from alloykit.teaching.teach_recipes import teach_together_recipe
from alloykit.training.co_finetuning import CoFinetuning
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec

pytestmark = pytest.mark.slow


def together(have: dict[str, Path], folder: Path, **more: Any) -> TogetherRecipe:
    narrow = tiny.encoder(folder / "narrow", "roberta", seed=5, hidden_size=16, num_hidden_layers=2)
    values = {
        "models": [str(have["encoder"]), str(narrow)],
        "names": ["wide", "narrow"],
        "data": table(folder / "train.csv"),
        "training": TRAINING,
        "output": str(folder / "together"),
    }
    return parse(values | more, TogetherRecipe)


def test_co_finetuned_teachers_share_a_head_and_load_again(models: dict[str, Path], tmp_path: Path) -> None:
    folders = teach_together_recipe(together(models, tmp_path))
    assert [f.name for f in folders] == ["wide", "narrow"]
    assert " teacher narrow: " in (tmp_path / "together" / "run.log").read_text()
    loaded = [read_teacher_info(HuggingFaceSpec(model=str(f)), f.name).load(Reading(max_length=32)) for f in folders]
    heads = [t.model.head.state_dict() for t in loaded]
    assert all(torch.equal(heads[0][key], heads[1][key]) for key in heads[0])
    assert isinstance(loaded[0].model.to_shared, torch.nn.Identity)
    assert loaded[1].model.to_shared.weight.shape == (32, 16), "one map to the shared width"
    with torch.inference_mode():
        said = [t.model(**t.batch(t.encode(tiny.texts(5)))).logits for t in loaded]
    assert all(s.shape == (5, 2) for s in said)
    assert not torch.allclose(*said)
    assert teach_together_recipe(together(models, tmp_path)) == folders, "finished ones are left as they are"
    recipe = together(models, tmp_path)
    table(tmp_path / "train.csv", 30, 3)
    with pytest.raises(AlloyError, match=r"recipe that made .*\n  - texts differ in content"):
        teach_together_recipe(recipe)
    run = alloykit.distill(**arguments(folders, models, tmp_path, "mt_bert"))
    assert run.has_student


def test_a_student_made_of_a_co_finetuned_teacher_is_a_plain_classifier(
    models: dict[str, Path], tmp_path: Path
) -> None:
    """It takes the encoder, without the head that all had together."""
    wide, narrow = teach_together_recipe(together(models, tmp_path))
    values = arguments([wide, narrow], models, tmp_path, "u_ensemble")
    run = alloykit.distill(**values | {"student": {"model": str(wide), "layers": 1}})
    assert not (run.student / "head.safetensors").exists()
    model, report = AutoModelForSequenceClassification.from_pretrained(run.student, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert model.config.architectures == ["BertForSequenceClassification"]
    assert run.predict(["late parcel"])[0]["label"] in LABELS
    learnt = (
        read_teacher_info(HuggingFaceSpec(model=str(wide)), "wide")
        .load(Reading())
        .model.encoder.embeddings.word_embeddings.weight
    )
    student, _ = build_student(StudentSpec(model=str(wide), layers=1), LabelSpace.union([LABELS]))
    assert torch.equal(student.base_model.embeddings.word_embeddings.weight, learnt)


def test_the_loss_of_co_finetuning_is_the_sum_over_the_encoders() -> None:
    """Σ_i CE(y, y_i): a term for each, of which the trainer minimises the sum."""
    logits, labels = torch.randn(4, 3, 2, dtype=torch.float64), torch.tensor([0, 1, 1, 0])
    rows = Rows((), labels)
    inputs = LossInputs(
        StudentOutput(logits), rows, None, torch.nn.ModuleDict(), Context(LabelSpace.union([LABELS])), Phase()
    )
    terms = CoFinetuning(CoFinetuning.Options()).loss(inputs)
    for x in range(4):
        wanted = sum(float(logits[x, i].exp().sum().log() - logits[x, i, labels[x]]) for i in range(3))
        assert float(sum(term[x] for term in terms.values())) == pytest.approx(wanted)


def test_a_shared_head_over_each_encoders_tokens_the_encoders(models: dict[str, Path], tmp_path: Path) -> None:
    """α_t ∝ exp(qᵀ tanh(V h_t + v)) over real tokens, in float64 loops."""
    from transformers import AutoModel

    from alloykit.models.heads import PooledHead
    from alloykit.training.co_finetuning import CoFinetunedEncoders

    torch.manual_seed(0)
    encoders = [AutoModel.from_pretrained(models["encoder"]).eval() for _ in range(2)]
    model = CoFinetunedEncoders(encoders, PooledHead(32, 2)).double().eval()
    ids = torch.randint(5, 30, (3, 6))
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    batch = {"input_ids": ids, "attention_mask": mask}
    found = model(**batch, others=[batch]).logits
    head = model.head
    for n, encoder in enumerate(encoders):
        states = encoder(**batch).last_hidden_state
        for x in range(3):
            real = [t for t in range(6) if mask[x, t]]
            weights = [
                torch.exp(head.query.weight[0] @ torch.tanh(head.keys.weight @ states[x, t] + head.keys.bias))
                for t in real
            ]
            pooled = sum(w * states[x, t] for w, t in zip(weights, real, strict=True)) / sum(weights)
            torch.testing.assert_close(found[x, n], head.out.weight @ pooled + head.out.bias)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training": {"select": "labelled"}}, "selected by the loss of all models"),
        ({"names": ["a", "a"]}, "one different name"),
        ({"names": ["a", "../b"]}, "plain folder names"),
        ({"models": ["one"]}, "models"),
        ({"models": [{"model": "one", "head": "pooled"}, "two"], "names": ["a", "b"]}, "leave `head` out"),
    ],
)
def test_wrong_recipes_of_together(
    change: dict[str, Any], message: str, models: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(AlloyError, match=message):
        together(models, tmp_path, **change)


def test_a_damaged_head_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    folder = teach_together_recipe(together(models, tmp_path))[0]
    (folder / "head.safetensors").unlink()
    with pytest.raises(AlloyError, match=r"pooled head head\.safetensors"):
        read_teacher_info(HuggingFaceSpec(model=str(folder)), "t").load(Reading())
