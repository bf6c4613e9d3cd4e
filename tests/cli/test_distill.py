"""`alloykit distill` and `teach --together`: every method from a recipe, on single texts and pairs; kills; what is refused."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from commandline import Call, write_recipe
from transformers import AutoModelForSequenceClassification

import alloykit
from alloykit.errors import AlloyError
from alloykit.jobs.teach_together import teach_together
from alloykit.methods.registry import create, methods
from alloykit.recipe import TogetherRecipe, parse
from alloykit.teachers.teacher import Teacher, TeacherSpec, describe

LABELS = ["no", "yes"]
TRAINING = {"epochs": 1, "learning_rate": 1e-3, "batch_size": 8, "max_length": 32, "check_every": 3}
ROUTED = {
    "kd", "u_ensemble", "w_ensemble", "lr_train_ensemble", "lr_dev_ensemble", "distilbert", "pkd", "tinybert",
    "dissimilarity_ensemble",
}  # fmt: skip
ONE_TASK = sorted(name for name, method in methods().items() if method.one_task)


def rows(n: int, seed: int, pairs: bool) -> list[dict[str, str]]:
    texts, seconds = tiny.texts(n, seed=seed), tiny.texts(n, seed=seed + 50)
    found = [{"text": t, "label": LABELS[i % 2]} for i, t in enumerate(texts)]
    return [row | {"text_pair": s} for row, s in zip(found, seconds, strict=True)] if pairs else found


def table(path: Path, n: int = 40, seed: int = 0, pairs: bool = False) -> dict[str, str]:
    found = rows(n, seed, pairs)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    return {"path": str(path), "label": "label"} | ({"text_pair": "text_pair"} if pairs else {})


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three architectures, two widths and two tokenizers; the first is as wide as the student."""
    folder = tmp_path_factory.mktemp("teachers")
    tiny.classifier(folder / "one", LABELS, "bert", seed=1)
    tiny.classifier(folder / "two", ["yes", "no"], "roberta", seed=2, num_hidden_layers=2, hidden_size=16)
    tiny.classifier(folder / "three", LABELS, "bert", seed=3)
    return [folder / name for name in ("one", "two", "three")]


def arguments(teachers: list[Path], models: dict[str, Path], folder: Path, method: Any, **more: Any) -> dict[str, Any]:
    pairs = more.pop("pairs", False)
    if isinstance(method, dict) and method["name"] == "rl_kd":
        method = method | {"encoder": str(models["encoder"])}
    return {
        "teachers": teachers,
        "texts": table(folder / "train.csv", pairs=pairs),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": method,
        "training": TRAINING,
        "validation": table(folder / "dev.csv", 20, 7, pairs),
        "evaluate": table(folder / "test.csv", 20, 9, pairs),
        "output": folder / "run",
    } | more


@pytest.mark.parametrize(
    ("name", "pairs"),
    [(name, False) for name in ONE_TASK] + [(name, True) for name in ("mt_bert", "rl_kd", "tinybert", "kd")],
)
def test_every_method_of_one_task_makes_a_plain_classifier(
    name: str, pairs: bool, teachers: list[Path], models: dict[str, Path], tmp_path: Path
) -> None:
    run = alloykit.distill(**arguments(teachers, models, tmp_path, {"name": name}, pairs=pairs))
    model, report = AutoModelForSequenceClassification.from_pretrained(run.student, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert model.config.num_hidden_layers == 2
    assert sorted(model.config.id2label.values()) == LABELS
    scores = run.metrics["evaluation"]["scores"]
    assert {"accuracy", "macro_f1"} <= set(scores["student"])
    assert "ensemble" in scores or name == "supervised"
    assert ("routing" in scores) is (name in ROUTED), "a target that reads the label, or is drawn, answers no test text"
    sizes = run.metrics["models"]
    assert list(sizes)[-1] == "student"
    assert all(m["texts_per_second"] > 0 and m["parameters"] > 0 for m in sizes.values())
    page = run.report.read_text(encoding="utf-8")
    assert "Size and speed" in page
    assert ("texts with labels" in page) is create(name).needs.labels


def test_the_command_line(teachers: list[Path], models: dict[str, Path], tmp_path: Path, call: Call) -> None:
    values = arguments(teachers, models, tmp_path, "u_ensemble")
    values |= {"teachers": [str(t) for t in teachers], "output": str(tmp_path / "run")}
    values["validation"], values["evaluate"] = {"data": values["validation"]}, {"data": values["evaluate"]}
    done = call("distill", write_recipe(tmp_path, values))
    assert done.code == 0, done.err
    assert "macro-F1" in done.out
    assert f"student: {tmp_path / 'run' / 'student'}" in done.out


def test_the_default_is_mt_bert(teachers: list[Path], models: dict[str, Path], tmp_path: Path) -> None:
    values = arguments(teachers, models, tmp_path, "mt_bert")
    del values["method"]
    run = alloykit.distill(**values)
    assert run.metrics["method"]["name"] == "mt_bert"
    logged = [h["mapped_size"] for h in run.read("training.json")["history"] if "mapped_size" in h]
    assert logged
    assert all(size > 0 for size in logged)


def test_rl_kd_shows_whom_it_selected(teachers: list[Path], models: dict[str, Path], tmp_path: Path) -> None:
    values = arguments(teachers, models, tmp_path, {"name": "rl_kd", "policy_epochs": 1})
    run = alloykit.distill(**values | {"training": TRAINING | {"select": "last"}})
    training = run.read("training.json")
    assert {h["phase"] for h in training["history"]} == {"pretrain", "joint"}
    steps = [h["step"] for h in training["history"]]
    assert steps == sorted(steps), "steps count on through the phases"
    assert training["steps"] == 2 * 5
    shares = [h for h in training["history"] if "selected_nobody" in h]
    assert shares
    assert {"selected_0", "selected_1", "selected_2"} <= set(shares[0])
    by_label = training["notes"]["selection"]
    assert set(by_label) == set(LABELS)
    assert sum(entry["texts"] for entry in by_label.values()) == 40, "one epoch"
    page = run.report.read_text(encoding="utf-8")
    assert "Whom the policy selected" in page


@pytest.mark.parametrize(
    "method", [{"name": "rl_kd", "schedule": "algorithm2"}, {"name": "tinybert"}], ids=lambda m: m["name"]
)
def test_killed_and_started_again_it_gives_the_same_student(
    method: dict[str, Any],
    teachers: list[Path],
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = alloykit.distill(**arguments(teachers, models, tmp_path / "a", method))
    from alloykit.training.phase_trainer import PhaseTrainer

    real, steps = PhaseTrainer.training_step, []

    def step(self: PhaseTrainer, *args: Any, **kwargs: Any) -> Any:
        steps.append(1)
        if len(steps) == 8:  # in the second phase, after its first checkpoint
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(PhaseTrainer, "training_step", step)
    with pytest.raises(KeyboardInterrupt):
        alloykit.distill(**arguments(teachers, models, tmp_path / "b", method))
    cut = alloykit.distill(**arguments(teachers, models, tmp_path / "b", method))
    one, other = (AutoModelForSequenceClassification.from_pretrained(run.student).state_dict() for run in (whole, cut))
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert whole.read("training.json")["notes"] == cut.read("training.json")["notes"]


def test_what_is_refused(teachers: list[Path], models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(AlloyError, match=r"teachers of one task.*got 'muka'.*Take one of.*mt_bert"):
        alloykit.distill(**arguments(teachers, models, tmp_path, "muka"))
    other = tmp_path / "other"
    tiny.classifier(other, ["no", "maybe"], "bert")
    with pytest.raises(AlloyError, match=r"know the same labels \(no, yes\).*got 'other' with maybe, no"):
        alloykit.distill(**arguments([*teachers, other], models, tmp_path, "u_ensemble"))
    values = arguments(teachers, models, tmp_path, {"name": "lr_dev_ensemble"})
    del values["validation"]
    with pytest.raises(AlloyError, match=r"validation: \{data.*method 'lr_dev_ensemble' needs them"):
        alloykit.distill(**values)
    unlabelled = arguments(teachers, models, tmp_path, "kd") | {"texts": tiny.texts(10)}
    with pytest.raises(AlloyError, match="label"):
        alloykit.distill(**unlabelled)
    assert not (tmp_path / "run").exists()


# --- teach --together


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
    folders = teach_together(together(models, tmp_path))
    assert [f.name for f in folders] == ["wide", "narrow"]
    loaded = [Teacher.load(describe(TeacherSpec(model=str(f)), f.name), max_length=32) for f in folders]
    heads = [t.model.head.state_dict() for t in loaded]
    assert all(torch.equal(heads[0][key], heads[1][key]) for key in heads[0])
    assert isinstance(loaded[0].model.to_shared, torch.nn.Identity)
    assert loaded[1].model.to_shared.weight.shape == (32, 16), "one map to the shared width"
    with torch.inference_mode():
        said = [t.model(**t.batch(t.encode(tiny.texts(5)))).logits for t in loaded]
    assert all(s.shape == (5, 2) for s in said)
    assert not torch.allclose(*said)
    assert teach_together(together(models, tmp_path)) == folders, "finished ones are left as they are"
    run = alloykit.distill(**arguments(folders, models, tmp_path, "mt_bert"))
    assert run.has_student


def test_the_shared_heads_loss_is_the_sum_over_the_encoders(models: dict[str, Path], tmp_path: Path) -> None:
    """Σ_i CE(y, y_i), with α_t ∝ exp(qᵀ tanh(V h_t + v)) over real tokens, in float64 loops."""
    from transformers import AutoModel

    from alloykit.teachers.pooled_head import PooledHead
    from alloykit.training.together import Together

    torch.manual_seed(0)
    encoders = [AutoModel.from_pretrained(models["encoder"]).eval() for _ in range(2)]
    model = Together(encoders, PooledHead(32, 2)).double().eval()
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


def test_a_student_with_the_pooled_head(teachers: list[Path], models: dict[str, Path], tmp_path: Path) -> None:
    values = arguments(teachers, models, tmp_path, "u_ensemble")
    values["student"] |= {"head": "pooled"}
    run = alloykit.distill(**values)
    assert (run.student / "head.safetensors").exists()
    assert run.metrics["evaluation"]["scores"]["student"]["accuracy"] >= 0
    assert run.predict(["late parcel"])[0]["label"] in LABELS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training": {"select": "labelled"}}, "the loss of all is what selects"),
        ({"names": ["a", "a"]}, "one different name"),
        ({"names": ["a", "../b"]}, "plain folder names"),
        ({"models": ["one"]}, "models"),
    ],
)
def test_wrong_recipes_of_together(
    change: dict[str, Any], message: str, models: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(AlloyError, match=message):
        together(models, tmp_path, **change)


def test_a_damaged_head_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    folder = teach_together(together(models, tmp_path))[0]
    (folder / "head.safetensors").unlink()
    with pytest.raises(AlloyError, match=r"pooled head head\.safetensors"):
        Teacher.load(describe(TeacherSpec(model=str(folder)), "t"))
