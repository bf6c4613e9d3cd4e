"""What is said of the pool without labels: how the method treats it, how far the teachers agree, where labels clash."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.evaluation.supervision import (
    BINS,
    agreement,
    disagreement_warnings,
    effective_sample_size,
    supervision_summary,
)
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method, Supervision
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
SPACE = LabelSpace.union([("a", "b", "c"), ("c", "d"), ("e", "f")])
NAMES = ["one", "two", "three"]


class Pool:
    """A Source: so many texts that everybody answered. Its labels are the numbers of the texts."""

    def __init__(self, *teachers):
        self.teachers = teachers

    def __len__(self):
        return len(self.teachers[0].logits)

    def rows(self, indices):
        at = torch.tensor(list(indices))
        taken = [TeacherRows(*(None if v is None else v[at] for v in vars(t).values())) for t in self.teachers]
        return Rows(tuple(taken), at)


class Handed(Method):
    """A method whose supervision of text number n is row n of what it was handed."""

    name = "handed"

    def __init__(self, *supervision):
        self.all = supervision

    def supervise(self, rows, context):
        return Supervision(*(None if v is None else v[rows.labels] for v in self.all))


def pool_of(*answers) -> Pool:
    """Per text one answer per teacher: (label, probability of it); the rest of the mass is spread evenly."""
    teachers = []
    for i, labels in enumerate(SPACE.teachers):
        rows = []
        for label, p in (answer[i] for answer in answers):
            rows.append([p if name == label else (1 - p) / (len(labels) - 1) for name in labels])
        teachers.append(TeacherRows(torch.tensor(rows).log()))
    return Pool(*teachers)


def histogram(values, top=1.0):
    counts = [0] * BINS
    for v in values:
        counts[min(int(v / top * BINS), BINS - 1)] += 1
    return counts


def handed(n, seed, loudest=1.0):
    g = torch.Generator().manual_seed(seed)
    targets = (3 * torch.randn(n, SPACE.size, generator=g)).softmax(-1)
    weights = loudest * torch.rand(n, generator=g) ** 2
    return targets, weights, torch.randn(n, 3, generator=g).softmax(-1)


@quick
@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_effective_sample_size_follows_the_formula(v):
    squares = math.fsum(a * a for a in v)
    wanted = math.fsum(v) ** 2 / squares if squares > 0 else 0.0
    assert effective_sample_size(torch.tensor(v, dtype=torch.float64)) == pytest.approx(wanted, rel=1e-9)


def test_effective_sample_size_by_hand():
    assert effective_sample_size(torch.full((7,), 0.3)) == pytest.approx(7)
    assert effective_sample_size(torch.zeros(5)) == 0
    assert effective_sample_size(torch.tensor([])) == 0
    assert effective_sample_size(torch.tensor([5.0, 0.0, 0.0])) == pytest.approx(1)
    assert effective_sample_size(torch.tensor([1.0, 3.0])) == pytest.approx(16 / 10)
    assert effective_sample_size(torch.tensor([300, 100, 100], dtype=torch.float16)) == pytest.approx(25 / 11)


@pytest.mark.parametrize(("n", "loudest"), [(1100, 1.0), (40, 2.5)])  # 1100: more than one chunk
def test_the_summary_by_loop(n, loudest):
    targets, v, w = handed(n, 1, loudest)
    found = supervision_summary(Handed(targets, v, w), Pool(TeacherRows(torch.zeros(n, 3))), Context(SPACE), NAMES)
    v64, top = v.double().tolist(), max(1.0, float(v.max()))
    assert found["texts"] == n
    assert found["weight"] == pytest.approx(sum(v64))
    assert found["effective_sample_size"] == pytest.approx(sum(v64) ** 2 / sum(x * x for x in v64))
    assert found["weights"]["up_to"] == pytest.approx(top)
    assert found["weights"]["counts"] == histogram(v64, top)
    assert sum(found["weights"]["counts"]) == n
    assert found["teacher_share"] == {t: pytest.approx(sum(w[:, i].tolist()) / n) for i, t in enumerate(NAMES)}
    assert list(found["labels"]) == list(SPACE.names)
    predicted = [row.index(max(row)) for row in targets.tolist()]
    for c, name in enumerate(SPACE.names):
        mine = [x for x in range(n) if predicted[x] == c]
        part = found["labels"][name]
        assert part["texts"] == len(mine) > 0
        assert part["weight"] == pytest.approx(sum(v64[x] for x in mine))
        assert part["effective_sample_size"] == pytest.approx(part["weight"] ** 2 / sum(v64[x] ** 2 for x in mine))
        assert part["teacher_share"] == {t: pytest.approx(w[mine, i].mean().item()) for i, t in enumerate(NAMES)}
        assert sum(part["teacher_share"].values()) == pytest.approx(1)


def test_a_label_that_is_never_predicted_has_no_shares():
    targets = torch.tensor([[1.0, 0, 0, 0, 0, 0]] * 4)
    source = Pool(TeacherRows(torch.zeros(4, 3)))
    found = supervision_summary(
        Handed(targets, torch.zeros(4), torch.full((4, 3), 1 / 3)), source, Context(SPACE), NAMES
    )
    assert found["labels"]["b"] == {"texts": 0, "weight": 0, "effective_sample_size": 0, "teacher_share": None}
    assert found["labels"]["a"]["texts"] == 4
    assert found["weights"] == {"up_to": 1.0, "counts": [4] + [0] * 19}
    without = supervision_summary(Handed(targets, torch.ones(4), None), source, Context(SPACE), NAMES)
    assert "teacher_share" not in without
    assert without["labels"]["a"]["teacher_share"] is None
    assert without["weights"]["counts"] == [0] * 19 + [4]


def test_methods_without_a_single_target_have_no_summary():
    source = Pool(*(TeacherRows(torch.zeros(3, len(labels))) for labels in SPACE.teachers))
    assert supervision_summary(create({"name": "uhc"}), source, Context(SPACE), NAMES) is None
    muka = supervision_summary(create({"name": "muka", "passes": 0}), source, Context(SPACE), NAMES)
    assert muka["teacher_share"] == {name: pytest.approx(1 / 3) for name in NAMES}


def test_confident_teachers_and_shared_labels_by_hand():
    pool = pool_of(
        (("a", 0.91), ("d", 0.89), ("e", 0.6)),  # one is sure; nobody says c
        (("c", 0.95), ("c", 0.95), ("e", 0.6)),  # two; both say c
        (("c", 0.5), ("d", 0.6), ("e", 0.89)),  # none; only the first says c
        (("b", 0.5), ("c", 0.99), ("f", 0.99)),  # two; only the second says c
        (("b", 0.99), ("d", 0.99), ("f", 0.99)),  # three; nobody says c
        (("c", 0.4), ("c", 0.6), ("f", 0.99)),  # one; both say c
        (("c", 0.89), ("c", 0.89), ("f", 0.89)),  # none; both say c
    )
    found = agreement(pool, SPACE, NAMES)
    assert found["confident_teachers"] == {"none": 2, "one": 2, "several": 3}
    assert found["shared"] == [{"teachers": ["one", "two"], "texts": 5, "same": pytest.approx(3 / 5)}]
    nobody = pool_of((("a", 0.91), ("d", 0.6), ("e", 0.6)))  # says c
    assert agreement(nobody, SPACE, NAMES)["shared"] == []


def test_confidence_is_that_of_the_passes_and_over_all_chunks():
    n, g = 1100, torch.Generator().manual_seed(4)
    teachers = []
    for labels in SPACE.teachers:
        logits = 3 * torch.randn(n, len(labels), generator=g)
        sums = (3 * torch.randn(4, n, len(labels), generator=g)).softmax(-1).sum(0)
        sums[:50] = 4 / len(labels)  # a guess: rounding may put its confidence just below 0
        teachers.append(TeacherRows(logits, sums, torch.full((n,), 4)))
    teachers[2] = TeacherRows(torch.tensor([[200.0, 0.0]] * 1000 + [[0.0, 0.0]] * 100))  # certain, then a guess
    found = agreement(Pool(*teachers), SPACE, NAMES)
    for i, name in enumerate(NAMES):
        c = []
        for p in teachers[i].mean_probabilities().double().tolist():
            u = -math.fsum(q * math.log(q) for q in p if q > 0)
            c.append(max(0.0, 1 - u / math.log(len(p))))
        assert found["confidence"][name] == histogram(c)
    assert found["confidence"]["three"] == [100] + [0] * 18 + [1000]
    assert sum(found["confident_teachers"].values()) == n
    tops = [[SPACE.teachers[i][k] for k in teachers[i].logits.argmax(-1).tolist()] for i in range(2)]
    either = [(x, y) for x, y in zip(*tops, strict=True) if "c" in (x, y)]
    assert found["shared"][0]["texts"] == len(either)
    assert found["shared"][0]["same"] == pytest.approx(sum(x == y for x, y in either) / len(either))


def clashing(clash, agree, unsure=0, elsewhere=0):
    """So many texts on which two confident teachers disagree about c, and on which they agree; others that should not count."""
    return pool_of(
        *[(("c", 0.95), ("d", 0.95), ("e", 0.6))] * ((clash + 1) // 2),
        *[(("a", 0.95), ("c", 0.95), ("e", 0.6))] * (clash // 2),
        *[(("c", 0.95), ("c", 0.95), ("e", 0.6))] * agree,
        *[(("c", 0.89), ("d", 0.95), ("e", 0.6))] * unsure,
        *[(("c", 0.95), ("d", 0.89), ("e", 0.6))] * unsure,
        *[(("a", 0.95), ("d", 0.95), ("e", 0.6))] * elsewhere,
    )


@pytest.mark.parametrize("few", [(5, 5), (9, 0), (0, 30), (9, 0, 20), (9, 0, 0, 20), (5, 5, 20, 20)])
def test_labels_that_agree_half_of_the_time_or_on_too_few_texts_raise_no_warning(few):
    assert disagreement_warnings(clashing(*few), SPACE, NAMES) == []


@pytest.mark.parametrize("many", [(6, 4), (10, 0), (700, 699), (6, 4, 30, 30)])
def test_labels_that_clash_raise_a_warning(many):
    [found] = disagreement_warnings(clashing(*many), SPACE, NAMES)
    assert found.startswith("label 'c' is shared by teachers 'one' and 'two'")
    assert f"disagree on {many[0]} of the {many[0] + many[1]} texts on which both are confident" in found
    assert "keep_apart: [c]" in found
    assert "catch_all: [c]" in found


def test_a_teacher_that_abstains_is_neither_confident_nor_disagrees():
    pool = clashing(12, 3)
    left = torch.arange(len(pool)) % 2 == 0
    whole, part = agreement(pool, SPACE, NAMES), Pool(*(replace(t, abstains=left) for t in pool.teachers))
    found = agreement(part, SPACE, NAMES)
    assert found["confident_teachers"] == {"none": 8, "one": 0, "several": 7}
    assert whole["confident_teachers"] == {"none": 0, "one": 0, "several": 15}
    assert found["shared"][0]["texts"] == whole["shared"][0]["texts"] - 8
    assert disagreement_warnings(pool, SPACE, NAMES)
    assert not disagreement_warnings(part, SPACE, NAMES)


@pytest.mark.parametrize("why", ["abstains", "no answer"])
def test_an_answer_that_does_not_count_has_no_confidence(why):
    pool = clashing(12, 3)
    left = torch.arange(len(pool)) % 2 == 0
    left_out = {"abstains": left} if why == "abstains" else {"answered": ~left}
    first, *others = pool.teachers
    found = agreement(Pool(replace(first, **left_out), *others), SPACE, NAMES)
    assert [sum(found["confidence"][name]) for name in NAMES] == [7, 15, 15]
    assert found["shared"][0]["texts"] == 7
    assert found["confident_teachers"] == {"none": 0, "one": 8, "several": 7}
