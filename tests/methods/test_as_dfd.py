"""AS-DFD's crafted embeddings: teachers answer the drawn class; some positions are hidden; the losses from plain loops."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch

import alloykit
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.as_dfd.crafting import CraftedCollator, craft
from alloykit.methods.as_dfd.options import AsDfdOptions
from alloykit.methods.protocol import Context, LossInputs, ModelShape, Phase, StudentOutput
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
from alloykit.teachers.protocol import Reading
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec

GROUPS = (("refund", "charge"), ("late", "lost", "track"))
OPTIONS = {"per_class": 12, "length": 8, "steps": 25, "step_size": 0.2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dfd")
    tiny.classifier(place / "one", GROUPS[0], "bert", seed=1)
    tiny.classifier(place / "two", GROUPS[1], "bert", seed=2)
    tiny.classifier(place / "narrow", GROUPS[1], "roberta", seed=2, hidden_size=16)
    tiny.encoder(place / "encoder", "bert")
    return place


@pytest.fixture(scope="module")
def drawn(folder: Path) -> Any:
    return made(folder)


def made(folder: Path, names: tuple[str, str] = ("one", "two"), **options: Any) -> Any:
    teachers = [
        read_teacher_info(HuggingFaceSpec(model=str(folder / n)), n).load(Reading(max_length=32)) for n in names
    ]
    space = LabelSpace.union(GROUPS)
    student, _ = build_student(StudentSpec(model=str(folder / "encoder"), layers=2), space)
    predict = torch.nn.Linear(32, 32)
    return craft(teachers, space, student, predict, AsDfdOptions(**OPTIONS | options), seed=0), teachers, space


@pytest.mark.slow
def test_teachers_answer_the_class_that_was_drawn(folder: Path, drawn: Any) -> None:
    crafted, teachers, space = drawn
    assert crafted.embeddings.shape == (5 * 12, 8, 32)
    assert crafted.labels.bincount().tolist() == [12] * 5
    for i, (names, teacher) in enumerate(zip(GROUPS, teachers, strict=True)):
        own = space.has_label()[i, crafted.labels]
        said = crafted.logits[i][own].argmax(-1)
        wanted = torch.tensor([names.index(space.names[int(y)]) for y in crafted.labels[own]])
        assert float((said == wanted).double().mean()) > 0.9
        table = teacher.model.get_input_embeddings().weight
        assert torch.equal(crafted.embeddings[own][0, 0], table[teacher.tokenizer.cls_token_id])
        assert torch.equal(crafted.embeddings[own][0, -1], table[teacher.tokenizer.sep_token_id])
    again, _, _ = made(folder)
    assert torch.equal(again.embeddings, crafted.embeddings), "the same seed, the same embeddings"


@pytest.mark.slow
def test_what_the_student_cannot_predict_is_sought(folder: Path) -> None:
    """The embeddings grow away from what a student predicts, the more the larger γ."""
    plain, _, _ = made(folder, adversarial=0.0, steps=8)
    sought, _, _ = made(folder, adversarial=5.0, steps=8)
    assert float(sought.embeddings.square().mean()) > float(plain.embeddings.square().mean())


def test_the_collator_hides_positions_but_never_the_ends(drawn: Any) -> None:
    crafted, _, _ = drawn
    torch.manual_seed(0)
    batch = CraftedCollator(crafted, 0.5)([{"row": i} for i in range(60)])
    hidden = batch["rows"]["hidden"]
    assert not hidden[:, [0, -1]].any()
    assert 0.4 < float(hidden[:, 1:-1].double().mean()) < 0.6
    assert (batch["inputs_embeds"][hidden] == 0).all()
    assert torch.equal(batch["inputs_embeds"][~hidden], crafted.embeddings[~hidden])
    known = Rows.from_batch(batch["rows"])
    assert torch.equal(known.embeddings, crafted.embeddings)
    assert torch.equal(known.labels, crafted.labels)


def test_losses_from_loops() -> None:
    g = torch.Generator().manual_seed(0)
    space = LabelSpace.union(GROUPS)
    e, hidden = torch.randn(4, 5, 6, generator=g), torch.rand(4, 5, generator=g) < 0.5
    hidden[0] = False
    rows = Rows(
        (TeacherRows(torch.randn(4, 2, generator=g)), TeacherRows(torch.randn(4, 3, generator=g))),
        torch.tensor([0, 4, 2, 1]), embeddings=e, hidden=hidden,
    )  # fmt: skip
    method = create({"name": "as_dfd", "self_supervised": 0.3})
    known = Context(space, student=ModelShape(6, 1), teachers=(ModelShape(6, 2), ModelShape(6, 2)))
    modules = method.modules(known)
    states = torch.randn(4, 5, 6, generator=g)
    student = StudentOutput(torch.randn(4, 5, generator=g), torch.ones(4, 5), (states, states))
    terms = method.loss(LossInputs(student, rows, method.supervise(rows, known), modules, known, Phase()))
    w, b = modules["predict"].weight.double(), modules["predict"].bias.double()
    for x, owner in enumerate((0, 1, 1, 0)):
        p = torch.softmax(rows.teachers[owner].logits[x].double(), -1)
        q = torch.log_softmax(student.logits[x].double(), -1)[[space.position(n) for n in GROUPS[owner]]]
        assert float(terms["kl"][x]) == pytest.approx(float((p * (p.log() - q)).sum()), abs=1e-5)
        each = [
            float(((w @ states[x, t].double() + b - e[x, t].double()) ** 2).mean()) for t in range(5) if hidden[x, t]
        ]
        assert float(terms["self"][x]) == pytest.approx(0.3 * sum(each) / len(each) if each else 0.0, abs=1e-5)


def test_the_teachers_that_know_a_class_teach_it_together() -> None:
    """The mean of their answers, each at its own labels."""
    space = LabelSpace.union((("refund", "charge"), ("late", "charge", "lost")))
    z = (torch.tensor([[0.0, 1.0]]), torch.tensor([[2.0, 0.0, 1.0]]))
    rows = Rows(tuple(map(TeacherRows, z)), torch.tensor([space.position("charge")]))
    found = create("as_dfd").supervise(rows, Context(space))
    p, q = (torch.softmax(each[0].double(), -1).tolist() for each in z)
    wanted = {"refund": p[0] / 2, "charge": (p[1] + q[1]) / 2, "late": q[0] / 2, "lost": q[2] / 2}
    assert dict(zip(space.names, found.targets[0].tolist(), strict=True)) == pytest.approx(wanted, abs=1e-6)


def test_another_width_is_refused(folder: Path) -> None:
    with pytest.raises(AlloyError, match=r"as wide as the student's \(32\).*'narrow' with 16"):
        made(folder, ("one", "narrow"))


def test_a_student_with_narrow_embeddings_is_refused() -> None:
    student = SimpleNamespace(get_input_embeddings=lambda: torch.nn.Embedding(5, 16))
    with pytest.raises(AlloyError, match="as wide as its hidden states.*a width of 16, and states with 32"):
        craft([], LabelSpace.union([["a", "b"]]), student, torch.nn.Linear(32, 32), AsDfdOptions(), 0)


@pytest.mark.slow
def test_a_student_comes_out_in_rounds(folder: Path, tmp_path: Path) -> None:
    run = alloykit.amalgamate(
        [folder / "one", folder / "two"], tiny.texts(30), {"model": str(folder / "encoder"), "layers": 2},
        {"name": "as_dfd", "rounds": 2, "per_class": 8, "steps": 5, "length": 8},
        training={"epochs": 1, "batch_size": 8, "max_length": 32, "learning_rate": 1e-3}, output=tmp_path / "run",
    )  # fmt: skip
    training = run.training
    assert {h["phase"] for h in training["history"]} == {"round1", "round2"}
    assert training["steps"] == 2 * 5, "40 embeddings in each round"
    assert run.predict(["late parcel"])[0]["label"] in {"refund", "charge", "late", "lost", "track"}
