"""What everybody answered: collected, kept, read back, and assessed against true labels."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from alloykit.errors import AlloyError
from alloykit.evaluation.answers import Answers, of_teachers
from alloykit.evaluation.labelled import _routing, assess
from alloykit.evaluation.reliability import reliability
from alloykit.evaluation.significance import interval
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows
from alloykit.stats.temperature import tempered

SPACE = LabelSpace.union([("a", "b", "c"), ("c", "d"), ("e", "f")])
TEACHERS = ["two", "one", "three"]  # not the order in which files sort them
N = 1100  # more than one chunk


@dataclass
class Pool:
    """A Source: everybody's answers to N texts."""

    teachers: list[TeacherRows]

    def __len__(self):
        return len(self.teachers[0].logits)

    def rows(self, indices):
        at = torch.tensor(list(indices))
        return Rows(tuple(TeacherRows(t.logits[at], t.probability_sum[at], t.passes[at]) for t in self.teachers))


@pytest.fixture(scope="module")
def pool() -> Pool:
    g = torch.Generator().manual_seed(0)
    logits = [3 * torch.randn(N, len(labels), generator=g) for labels in SPACE.teachers]
    sums = [(z + torch.randn(4, *z.shape, generator=g)).softmax(-1).sum(0) for z in logits]
    return Pool([TeacherRows(z, s, torch.full((N,), 4)) for z, s in zip(logits, sums, strict=True)])


def collected(pool, method) -> Answers:
    return of_teachers(pool, torch.arange(N) % SPACE.size, create(method), Context(SPACE), TEACHERS)


def one_hot(*labels) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor([SPACE.position(y) for y in labels]), SPACE.size).float()


def test_a_teacher_is_scored_on_the_texts_that_it_answers(pool, tmp_path):
    told = torch.arange(N) % 3 != 0
    silent = torch.zeros(N, dtype=torch.bool)

    class Partly(Pool):
        def rows(self, indices):
            at = torch.tensor(list(indices))
            first, second, third = pool.rows(indices).teachers
            return Rows((first, replace(second, answered=told[at]), replace(third, answered=silent[at])))

    answers = collected(Partly(pool.teachers), {"name": "ensemble"})
    answers.save(tmp_path / "answers.safetensors", [f"{i:032x}" for i in range(N)])
    for found in (answers, Answers.load(tmp_path / "answers.safetensors")):
        result = assess(found, SPACE, TEACHERS)
        scores = result["scores"]
        assert "teacher three" not in scores
        assert "unanswered" not in scores["teacher two"]
        mine = scores["teacher one"]
        p = found.probabilities["teacher one"]
        right = [int(p[i].argmax() == i % SPACE.size) for i in range(N) if i % 3]
        assert mine["unanswered"] == N - len(right)
        assert mine["accuracy"] == pytest.approx(sum(right) / len(right))
        assert mine["interval"] == interval(np.array(right, dtype=bool))
        judged = found.probabilities[result["judged"]]
        ours = [int(judged[i].argmax() == i % SPACE.size) for i in range(N) if i % 3]
        gain = (sum(ours) - sum(right)) / len(right)
        assert result["significance"]["teacher one"]["difference"] == pytest.approx(gain)


def test_everybody_answers_every_text(pool):
    answers = collected(pool, {"name": "muka", "passes": 4})
    p = answers.probabilities
    assert list(p) == ["teacher two", "teacher one", "teacher three", "ensemble", "routing"]
    for i, (name, labels) in enumerate(zip(TEACHERS, SPACE.teachers, strict=True)):
        for x in (0, 500, N - 1):
            z = pool.teachers[i].logits[x].tolist()
            said = {y: math.exp(v) / sum(map(math.exp, z)) for y, v in zip(labels, z, strict=True)}
            assert p[f"teacher {name}"][x].tolist() == pytest.approx([said.get(y, 0.0) for y in SPACE.names], abs=1e-6)
            mean = (pool.teachers[i].probability_sum[x] / 4).tolist()
            u = -sum(q * math.log(q) for q in mean)
            assert answers.confidence[x, i].item() == pytest.approx(1 - u / math.log(len(labels)), abs=1e-6)
    everything = pool.rows(range(N))
    wanted = create({"name": "muka", "passes": 4}).supervise(everything, Context(SPACE))
    torch.testing.assert_close(p["routing"], wanted.targets)
    torch.testing.assert_close(answers.teacher_weights, wanted.teacher_weights)
    torch.testing.assert_close(answers.weights, wanted.weights)
    torch.testing.assert_close(p["ensemble"], create("ensemble").supervise(everything, Context(SPACE)).targets)
    assert all(q.dtype == torch.float32 and q.shape == (N, 6) for q in p.values())


def test_only_a_method_with_one_target_of_teachers_routes(pool):
    for name in ("uhc", "supervised"):
        answers = collected(pool, {"name": name})
        assert list(answers.probabilities)[-1] == "ensemble"
        assert answers.weights is answers.teacher_weights is None
    plain = collected(pool, {"name": "vanilla_kd"})
    assert (plain.weights.tolist(), plain.teacher_weights) == ([1.0] * N, None)


@pytest.mark.parametrize("method", ["muka", "uhc"])
def test_a_file_gives_back_what_was_saved(method, pool, tmp_path: Path):
    answers = collected(pool, {"name": method} | ({"passes": 0} if method == "muka" else {}))
    answers.probabilities["student"] = torch.rand(N, 12).softmax(-1)[:, ::2]  # not contiguous
    path = tmp_path / "there" / "answers.safetensors"
    answers.save(path, [f"{k:032x}" for k in range(N)])
    ids = safetensors.torch.load_file(path)["ids"]
    assert [bytes(row.tolist()).hex() for row in ids] == [f"{k:032x}" for k in range(N)]
    found = Answers.load(path)
    assert list(found.probabilities) == list(answers.probabilities)
    assert all(torch.equal(found.probabilities[way], p) for way, p in answers.probabilities.items())
    for name in ("labels", "confidence", "teacher_weights", "weights"):
        saved, read = getattr(answers, name), getattr(found, name)
        assert read is None if saved is None else torch.equal(read, saved)
    assert found.scores(SPACE, TEACHERS) == answers.scores(SPACE, TEACHERS)


def test_a_damaged_file_is_refused(tmp_path: Path):
    path = tmp_path / "answers.safetensors"
    Answers(torch.tensor([0]), torch.zeros(1, 3), {"student": one_hot("a")}).save(path, ["00" * 16])
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], whole[: len(whole) // 2], whole[:-1], b"\xff" * 100):
        path.write_bytes(damaged)
        with pytest.raises(AlloyError, match=r"alloykit evaluate"):
            Answers.load(path)


def test_a_file_of_something_else_is_refused(tmp_path: Path):
    path = tmp_path / "answers.safetensors"
    safetensors.torch.save_file({"labels": torch.zeros(3)}, path, {"ways": "[]"})
    with pytest.raises(AlloyError, match=r"alloykit evaluate"):
        Answers.load(path)
    safetensors.torch.save_file({"labels": torch.zeros(3), "confidence": torch.zeros(3, 1)}, path)
    with pytest.raises(AlloyError, match=r"alloykit evaluate"):
        Answers.load(path)


# Six texts, by hand. Teachers: a b c | c d | e f. The largest weight is right for a (twice), c and e.
TRUE, OWNERS = "abcdea", [0, 1, 1, 0, 2, 0]
C = [[0.01, 0.11, 0.96], [1, -1e-9, 0.5], [0.3, 0.31, 0.52], [0.7, 0.9, 0.97], [0.99, 0.6, 0.2], [0.4, 0.4, 0.4]]


def by_hand(student: bool = True) -> Answers:
    p = {f"teacher {t}": one_hot(*y) for t, y in zip(TEACHERS, ("abcaaa", "ccccdc", "eefeef"), strict=True)}
    p |= {"ensemble": one_hot(*"abcded"), "routing": one_hot(*"accaec")}
    if student:
        p["student"] = 0.9 * one_hot(*"abcdea") + 0.1 * one_hot(*"fffeff")
        p["student"][3] = 0.6 * one_hot("c") + 0.4 * one_hot("d")
    w = torch.nn.functional.one_hot(torch.tensor(OWNERS), 3) * 0.5 + 0.1
    v = torch.tensor([0.1, 0.9, 0.5, 0.2, 0.8, 0.4])
    return Answers(one_hot(*TRUE).argmax(-1), torch.tensor(C, dtype=torch.float64), p, w, v)


@pytest.fixture(scope="module")
def found():
    return assess(by_hand(), SPACE, TEACHERS, temperature=2.0)


def test_scores_and_confusion_by_hand(found):
    assert (found["texts"], found["judged"]) == (6, "student")
    wanted = {("a", "a"): 2, ("b", "b"): 1, ("c", "c"): 1, ("d", "c"): 1, ("e", "e"): 1}  # (true, said)
    assert found["confusion"] == [[wanted.get((y, s), 0) for s in SPACE.names] for y in SPACE.names]
    assert {way: round(6 * s["accuracy"], 9) for way, s in found["scores"].items()} == {
        "teacher two": 4, "teacher one": 1, "teacher three": 1, "ensemble": 5, "routing": 3, "student": 5,
        "oracle routing": 5,
    }  # fmt: skip
    assert found["scores"]["routing"]["groups"] == {"two": pytest.approx(2 / 4), "one": 0.5, "three": 1.0}
    assert found["scores"]["routing"]["correct_teacher"] == pytest.approx(4 / 6)
    assert found["scores"]["routing"]["correct_teacher_balanced"] == pytest.approx((3 / 4 + 1 / 2 + 1) / 3)
    assert found["scores"]["student"]["interval"] == interval(np.array([True] * 5 + [False]))


def test_routing_per_true_label_by_hand(found):
    assert list(found["routing"]) == ["a", "b", "c", "d", "e"]  # no text is an f
    assert found["routing"]["a"] == {"texts": 2, "right": 1.0, "to": {"two": 1.0, "one": 0.0, "three": 0.0}}
    assert found["routing"]["b"] == {"texts": 1, "right": 0.0, "to": {"two": 0.0, "one": 1.0, "three": 0.0}}
    assert [found["routing"][y]["right"] for y in "cde"] == [1.0, 0.0, 1.0]


def test_confidence_of_those_who_know_and_those_who_do_not(found):
    counts = {"right": [0] * 20, "wrong": [0] * 20}
    for y, row in zip(TRUE, C, strict=True):
        for labels, c in zip(SPACE.teachers, row, strict=True):
            counts["right" if y in labels else "wrong"][min(int(c * 20), 19)] += 1
    assert found["confidence"] == counts


@pytest.mark.parametrize("why", ["abstains", "answered"])
def test_answers_that_do_not_count_have_no_confidence(why, pool):
    left = torch.arange(N) % 4 == 0

    class Marked(Pool):
        def rows(self, indices):
            first, *others = pool.rows(indices).teachers
            at = left[torch.tensor(list(indices))]
            return Rows((replace(first, **{why: at if why == "abstains" else ~at}), *others))

    of_label_a = torch.zeros(N, dtype=torch.int64)
    found = assess(of_teachers(Marked(pool.teachers), of_label_a, None, Context(SPACE), TEACHERS), SPACE, TEACHERS)
    assert sum(found["confidence"]["right"]) == N - int(left.sum())  # only the first teacher knows "a"
    assert sum(found["confidence"]["wrong"]) == 2 * N


def test_the_student_is_compared_with_everybody_and_tempered(found):
    assert list(found["significance"]) == [w for w in by_hand().probabilities if w != "student"]
    assert found["significance"]["routing"]["difference"] == pytest.approx(2 / 6)
    assert list(found["reliability"]) == ["student", "routing", "ensemble", "student, tempered"]
    p, y = by_hand().probabilities["student"], by_hand().labels
    assert found["reliability"]["student"] == reliability(p, y)
    assert found["reliability"]["student, tempered"] == reliability(tempered(p, 2.0), y)
    assert found["reference"]["is"] == "the teachers that know the true label"
    assert (list(found["reference"]["mean"]), found["reference"]["clear_texts"]) == (
        ["student", "routing", "ensemble"],
        3,
    )


def test_without_a_student_the_routing_is_judged():
    answers = by_hand(student=False)
    answers.teacher_weights = None
    result = assess(answers, SPACE, TEACHERS, reference=answers.probabilities["routing"], temperature=2.0)
    assert result["judged"] == "routing"
    assert list(result["significance"]) == ["teacher two", "teacher one", "teacher three", "ensemble"]
    assert result["significance"]["ensemble"]["difference"] == pytest.approx(-2 / 6)
    assert list(result["reliability"]) == ["routing", "ensemble"]
    assert result["confusion"][1] == [0, 0, 1, 0, 0, 0]  # the b is taken for a c
    assert result["routing"] is None
    assert "correct_teacher" not in result["scores"]["routing"]
    assert result["reference"]["is"] == "a model trained on all labels"
    assert result["reference"]["mean"]["routing"] < 1e-3 < result["reference"]["mean"]["ensemble"]


def test_a_student_without_teachers():
    answers = Answers(torch.tensor([0, 1, 2, 0]), torch.zeros(4, 1), {"student": torch.eye(3)[[0, 1, 1, 0]]})
    result = assess(answers, LabelSpace.union([("a", "b", "c")]), [])
    assert list(result["scores"]) == ["student"]
    assert (result["scores"]["student"]["accuracy"], result["scores"]["student"]["groups"]) == (0.75, {})
    assert result["confusion"] == [[2, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert (result["significance"], result["routing"], result.get("reference")) == ({}, None, None)


def test_routing_by_hand() -> None:
    space = LabelSpace.union([["a", "b"], ["b", "c"], ["d", "e"]])
    weights = torch.tensor([[0.9, 0.1, 0], [0.2, 0.8, 0], [0.3, 0.7, 0], [0.6, 0.4, 0], [0, 0.4, 0.6]])
    answers = Answers(torch.tensor([0, 0, 1, 1, 2]), torch.ones(5, 3), teacher_weights=weights)
    assert _routing(answers, space, ["x", "y", "z"]) == {
        "a": {"texts": 2, "right": 0.5, "to": {"x": 0.5, "y": 0.5, "z": 0.0}},
        "b": {"texts": 2, "right": 1.0, "to": {"x": 0.5, "y": 0.5, "z": 0.0}},
        "c": {"texts": 1, "right": 0.0, "to": {"x": 0.0, "y": 0.0, "z": 1.0}},
    }
