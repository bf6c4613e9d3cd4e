"""A method that uses everything: modules, two phases, after_step, and a term that couples the texts of a batch."""

import math
from itertools import pairwise

import pytest
import safetensors.torch
import tiny
import torch
from random_rows import Pool, context_of, losses, rows_of, space_of
from small_training import logged, new_student, run
from torch import nn

from alloykit.json_files import read_json
from alloykit.losses.kl import kl
from alloykit.methods.ensemble import ensemble_logits
from alloykit.methods.protocol import Method, Phase, Supervision, uniform_weights
from alloykit.methods.registry import create


class Toy(Method):
    """Vanilla KD plus a calibration layer of its own and a batch term."""

    name, title, reference = "toy", "Toy", "nobody"
    rates = (1e-3, 1e-4)

    def __init__(self):
        super().__init__(Method.Options())
        self.steps, self.made, self.losses = [], [], []

    @property
    def batch_coupled(self):
        return True

    def phases(self):
        return tuple(Phase(f"part{i}", epochs=i + 1, learning_rate=rate) for i, rate in enumerate(self.rates))

    def modules(self, context):
        self.made.append(nn.ModuleDict({"scale": nn.Linear(context.space.size, 1), "unused": nn.Linear(2, 2)}))
        nn.init.constant_(self.made[-1]["scale"].weight, 0.5)
        return self.made[-1]

    def supervise(self, rows, context):
        targets = torch.softmax(ensemble_logits(rows, context.space), -1)
        return Supervision(targets, uniform_weights(targets))

    def loss(self, inputs):
        assert not inputs.target.targets.requires_grad
        coupled = (
            inputs.modules["scale"](inputs.student.logits).mean() ** 2
        )  # a scalar: the square of a mean over texts
        terms = {"kl": kl(inputs.target.targets, inputs.student.logits), "coupled": coupled}
        self.losses.append((inputs.phase.name, terms["kl"].mean().item() + coupled.item()))
        return terms

    def after_step(self, step):
        weight = step.student.classifier.weight.detach().clone()
        at = torch.cat([batch["row"] for batch in step.batches]).tolist()
        self.steps.append((step.phase.name, at, step.rows, weight, step.modules))
        assert isinstance(step.student, nn.Module)
        assert step.context.space.size == 10


N = 30


@pytest.fixture(scope="module")
def trained(quiet_encoder, tmp_path_factory):
    folder, method = tmp_path_factory.mktemp("toy"), Toy()
    student, fitted = run(method, quiet_encoder, folder, n=N, batch_size=8, save_every_seconds=0)
    return student, fitted, method, folder


@pytest.mark.slow
def test_both_phases_run_with_their_own_length_and_rate(trained):
    _, fitted, method, folder = trained
    per_epoch = math.ceil(N / 8)
    assert [name for name, *_ in method.steps] == ["part0"] * per_epoch + ["part1"] * 2 * per_epoch
    assert fitted.steps == 3 * per_epoch
    assert len(method.made) == 1, "the second phase goes on with the modules of the first"
    for name, rate in zip(("part0", "part1"), Toy.rates, strict=True):
        rates = {e["learning_rate"] for e in fitted.history if e["phase"] == name and "learning_rate" in e}
        assert rates == {rate}
        assert (folder / name).is_dir()


def test_after_step_sees_each_batch_once_after_the_optimiser(trained):
    _, _, method, _ = trained
    for first in (0, 4, 8):  # three epochs of four steps
        seen = [row for _, rows, *_ in method.steps[first : first + 4] for row in rows]
        assert sorted(seen) == list(range(N))
    weights = [weight for *_, weight, _ in method.steps]
    assert all(not torch.equal(a, b) for a, b in pairwise(weights))
    everything = rows_of("disjoint", N, seed=3)
    for _, at, rows, _, modules in method.steps:
        assert modules is method.made[0]
        for i, known in enumerate(everything.teachers):
            assert torch.equal(torch.cat([part.teachers[i].logits for part in rows]), known.logits[at])
        assert torch.equal(torch.cat([part.labels for part in rows]), everything.labels[at])


def test_after_step_is_called_once_per_optimiser_step_when_accumulating(quiet_encoder, tmp_path):
    method = Toy()
    _, fitted = run(method, quiet_encoder, tmp_path, n=N, batch_size=4, accumulate=3)
    assert len(method.steps) == fitted.steps == 3 * math.ceil(N / 12)
    assert [len(at) for _, at, *_ in method.steps] == [12, 12, 6] * 3


def test_after_step_is_told_when_to_log_and_when_an_epoch_ends(quiet_encoder, tmp_path):
    """Of 41 steps, every second one is logged. The last epoch is not whole, and ends too."""

    class Told(Toy):
        def phases(self):
            return (Phase("part", epochs=6.7),)

        def after_step(self, step):
            self.steps.append((step.logs, step.last_of_epoch))

    method = Told()
    run(method, quiet_encoder, tmp_path, n=11, batch_size=1, accumulate=2)
    logs, ends = zip(*method.steps, strict=True)
    assert logs == (False, True) * 20 + (False,)
    assert [step for step, end in enumerate(ends, 1) if end] == [6, 12, 18, 24, 30, 36, 41]


def test_the_loss_is_the_mean_over_texts_plus_the_coupled_term(quiet_encoder, tmp_path):
    method = Toy()
    _, fitted = run(method, quiet_encoder, tmp_path, n=N, batch_size=30)
    assert [name for name, _ in method.losses] == ["part0", "part1", "part1"]
    for found, (_, wanted) in zip(logged(fitted, "loss"), method.losses, strict=True):
        assert found == pytest.approx(wanted, rel=1e-3)


def test_modules_are_trained_and_checkpointed(trained):
    student, _, method, folder = trained
    scale = method.made[0]["scale"]
    assert not torch.allclose(scale.weight, torch.full_like(scale.weight, 0.5), atol=1e-3)
    last = max((folder / "part1").glob("checkpoint-*"), key=lambda p: int(p.name.rsplit("-")[-1]))
    saved = safetensors.torch.load_file(last / "model.safetensors")
    assert torch.equal(saved["modules_of_method.scale.weight"], scale.weight)
    assert torch.equal(saved["student.classifier.weight"], student.classifier.weight)


def test_a_finished_run_started_again_gives_the_same_student_and_modules(trained, quiet_encoder):
    student, fitted, method, folder = trained
    again = Toy()
    student2, fitted2 = run(again, quiet_encoder, folder, n=N, batch_size=8, save_every_seconds=0)
    assert again.steps == [], "nothing was left to train"
    assert fitted2.steps == fitted.steps
    for (name, one), other in zip(student.state_dict().items(), student2.state_dict().values(), strict=True):
        assert torch.equal(one, other), name
    assert torch.equal(again.made[0]["scale"].weight, method.made[0]["scale"].weight)


def test_the_exported_student_has_none_of_the_modules(trained, quiet_encoder, tmp_path):
    student, _, _, _ = trained
    assert not student.training
    student.save_pretrained(tmp_path)
    keys = set(safetensors.torch.load_file(tmp_path / "model.safetensors"))
    fresh, _ = new_student(quiet_encoder)
    assert keys == set(fresh.state_dict())
    assert not any(word in key for key in keys for word in ("scale", "unused", "modules_of_method", "student."))
    loaded = type(student).from_pretrained(tmp_path)
    batch = torch.tensor([[2, 9, 11, 3]])
    torch.testing.assert_close(loaded.eval()(batch).logits, student(batch).logits, rtol=0, atol=1e-6)
    for name, weight in student.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight), name


@pytest.mark.parametrize("rule", ["unlabelled", "labelled"])
def test_checks_choose_weights_that_come_back(rule, quiet_encoder, words, tmp_path):
    """The selected step's student has the loss (or accuracy) that its check reported."""
    student, fitted = run(
        {"name": "vanilla_kd"}, quiet_encoder, tmp_path, n=40, checks=16,
        batch_size=8, select=rule, check_every=2, precision="float32",
    )  # fmt: skip
    checks = read_json(tmp_path / "train" / "checks" / "checks.json")
    assert [c["step"] for c in checks] == [2, 4, 6]
    chosen = next(c for c in checks if c["step"] == fitted.selected_step)
    method = create("vanilla_kd")
    rows = Pool(rows_of("disjoint", 40, seed=3)).rows(range(24, 40))
    inputs = words(tiny.texts(40, seed=8)[24:], padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = student(**inputs).logits
    values = losses(method, rows, context_of(method, rows, space_of("disjoint")), logits)["kl"]
    if rule == "labelled":
        values = (logits.argmax(-1) == rows.labels).float()
    assert chosen["mean"] == pytest.approx(values.mean().item(), rel=1e-4)
    assert chosen["standard_error"] == pytest.approx((values.std() / 4).item(), rel=1e-3)
