"""Labels are joined by name; scatter and gather move values between a teacher's labels and the union."""

import pickle
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace

words = st.sampled_from("abcdefghijkl")  # few enough to overlap, enough for several components
label_sets = st.lists(st.lists(words, min_size=2, max_size=4, unique=True), min_size=1, max_size=5)
quick = settings(max_examples=60, deadline=None, derandomize=True)

SPACE = LabelSpace.union([["bug", "login"], ["refund", "bug", "invoice"], ["cat", "dog"]])


@quick
@given(label_sets, st.integers(0, 2**16))
def test_scatter_then_gather_is_identity_and_keeps_sums(teachers, seed):
    space = LabelSpace.union(teachers)
    generator = torch.Generator().manual_seed(seed)
    for i, labels in enumerate(teachers):
        values = torch.rand(3, 2, len(labels), generator=generator, dtype=torch.float64)
        padded = space.scatter(i, values)
        assert padded.shape == (3, 2, space.size)
        assert padded.dtype == torch.float64
        assert torch.equal(space.gather(i, padded), values)
        torch.testing.assert_close(padded.sum(-1), values.sum(-1))
        # Against a plain loop over names.
        for position, name in enumerate(space.names):
            wanted = values[..., labels.index(name)] if name in labels else torch.zeros(3, 2).double()
            assert torch.equal(padded[..., position], wanted)


@quick
@given(label_sets)
def test_the_set_of_names_ignores_teacher_order_and_names_are_unique(teachers):
    spaces = [LabelSpace.union(order) for order in permutations(teachers[:4])]
    assert {frozenset(space.names) for space in spaces} == {frozenset().union(*teachers[:4])}
    assert all(len(set(space.names)) == space.size == len(space.names) for space in spaces)


@quick
@given(label_sets)
def test_knows_shared_and_components_agree_with_the_definition(teachers):
    space = LabelSpace.union(teachers)
    knows = space.has_label()
    assert knows.dtype == torch.bool
    assert knows.tolist() == [[name in labels for name in space.names] for labels in teachers]
    assert space.overlapping == bool(space.shared())
    assert space.overlapping == (space.size < sum(map(len, teachers)))
    # Reachable in any number of steps through common teachers: the closure of "some teacher knows both".
    linked = (knows.double().T @ knows.double()) > 0
    for _ in range(space.n_teachers):
        linked = (linked.double() @ linked.double()) > 0
    component = space.components()
    assert component.dtype == torch.int64
    assert torch.equal(component[:, None] == component[None, :], linked)
    assert list(dict.fromkeys(component.tolist())) == list(range(int(component.max()) + 1))


def test_order_index_and_shared_of_an_example():
    assert SPACE.names == ("bug", "login", "refund", "invoice", "cat", "dog")
    assert (SPACE.size, SPACE.n_teachers, SPACE.overlapping) == (6, 3, True)
    assert SPACE.index(1).tolist() == [2, 0, 3]
    assert SPACE.index(1).dtype == torch.int64
    assert SPACE.index(1) is SPACE.index(1)
    assert SPACE.shared() == {"bug": (0, 1)}
    assert SPACE.components().tolist() == [0, 0, 0, 0, 1, 1]
    assert SPACE.id2label[3] == "invoice"
    assert SPACE.label2id["invoice"] == 3 == SPACE.position("invoice")


def test_components_of_disjoint_sets_are_the_teacher_numbers():
    assert LabelSpace.union([["d", "c"], ["b", "a"], ["z", "y"]]).components().tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("teachers", "components"),
    [
        # The third teacher ties the first two together; the numbers leave no gap.
        (["ab", "cd", "bc", "ef"], [0, 0, 0, 0, 1, 1]),
        # A component is numbered by its first teacher, not its last.
        (["ab", "cd", "ae"], [0, 0, 1, 1, 0]),
        # When the second teacher joins the first, it brings the third along.
        (["ab", "cd", "cx", "da"], [0, 0, 0, 0, 0]),
    ],
)
def test_components_follow_chains_of_teachers(teachers, components):
    assert LabelSpace.union([list(letters) for letters in teachers]).components().tolist() == components


def test_scatter_fills_keeps_dtype_and_passes_gradients():
    logits = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16)
    padded = SPACE.scatter(1, logits, fill=float("-inf"))
    assert padded.dtype == torch.float16
    assert padded.tolist() == [2.0, float("-inf"), 1.0, 3.0, float("-inf"), float("-inf")]
    values = torch.ones(2, 3, requires_grad=True)
    (SPACE.scatter(1, values) * torch.arange(6.0)).sum().backward()
    assert values.grad.tolist() == [[2.0, 0.0, 3.0]] * 2
    student = torch.zeros(6, requires_grad=True)
    SPACE.gather(1, student).sum().backward()
    assert student.grad.tolist() == [1.0, 0.0, 1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(("call", "shape"), [("scatter", (4, 2)), ("scatter", ()), ("gather", (4, 3)), ("gather", ())])
def test_wrong_shapes_are_refused(call, shape):
    width = 3 if call == "scatter" else 6
    with pytest.raises(AlloyError, match=rf"\[\.\.\., {width}\].*shape"):
        getattr(SPACE, call)(1, torch.zeros(shape))


@pytest.mark.parametrize("teacher", [-1, 3])
def test_unknown_teacher_numbers_are_refused(teacher):
    with pytest.raises(AlloyError, match=f"from 0 to 2; got {teacher}"):
        SPACE.index(teacher)


def test_a_used_space_is_a_value():
    SPACE.scatter(1, torch.zeros(3)), SPACE.has_label()
    copy = pickle.loads(pickle.dumps(SPACE))
    assert set(vars(copy)) == {"names", "teachers", "catch_all"}, "without tensors, which may be on a GPU"
    assert copy == SPACE
    assert hash(copy) == hash(SPACE)
    assert torch.equal(copy.index(1), SPACE.index(1))
    with pytest.raises(AlloyError, match="exactly once"):
        LabelSpace(("a", "b"), (("a", "b", "c"),))
    with pytest.raises(AlloyError, match="exactly once"):
        LabelSpace(("a", "b", "b"), (("a", "b"),))


def test_what_every_training_step_asks_for_is_computed_once():
    space = LabelSpace.union([[f"{i} and {n}" for n in range(3)] for i in range(4)])
    assert space.has_label() is space.has_label()
    assert space.components() is space.components()
    repeated = LabelSpace(("a", "b"), (("a", "b", "a"),))
    assert repeated.shared() == {}


def test_position_suggests_near_names_in_any_case():
    with pytest.raises(AlloyError, match=r"got 'Invoices'\. Did you mean 'invoice'"):
        SPACE.position("Invoices")
    with pytest.raises(AlloyError, match="There are: 'bug', 'login'"):
        SPACE.position("zzz")


def test_aliases_join_labels_before_the_union():
    space = LabelSpace.union([["bug", "log in"], ["Login", "cat"]], aliases={"log in": "login", "Login": "login"})
    assert space.names == ("bug", "login", "cat")
    assert space.teachers == (("bug", "login"), ("login", "cat"))
    assert space.shared() == {"login": (0, 1)}


def test_keep_apart_prefixes_only_shared_labels():
    teachers, names = [["other", "bug", "x"], ["other", "x", "cat"]], ["support", "pets"]
    space = LabelSpace.union(teachers, teacher_names=names, keep_apart=[" other", "cat"])
    assert space.names == ("support/other", "bug", "x", "pets/other", "cat")
    assert space.shared() == {"x": (0, 1)}
    every = LabelSpace.union(teachers, teacher_names=names, keep_apart=True)
    assert every.teachers == (("support/other", "bug", "support/x"), ("pets/other", "pets/x", "cat"))
    assert not every.overlapping
    assert every.components().tolist() == [0, 0, 0, 1, 1, 1]


def test_labels_that_mean_none_of_the_others_are_known_and_stay_joined():
    teachers, names = [["other", "bug", "x"], ["none", "x", "cat"], ["rest", "dog", "cat"]], ["a", "b", "c"]
    assert LabelSpace.union(teachers).catch_all == ()
    space = LabelSpace.union(
        teachers, teacher_names=names, aliases={"none": "other"}, keep_apart=True, catch_all=[" rest ", "other"]
    )
    assert space.names == ("other", "bug", "a/x", "b/x", "b/cat", "rest", "dog", "c/cat")
    assert space.catch_all == ("other", "rest")
    assert pickle.loads(pickle.dumps(space)) == space


@pytest.mark.parametrize(
    ("teachers", "options", "message"),
    [
        ([], {}, "at least one teacher"),
        ([["a", "b"]], {"catch_all": "a"}, "a list of labels that mean"),
        ([["a", "other"]], {"catch_all": ["othr"]}, "catch_all.*Did you mean 'other'"),
        ([["a", "b"]], {"aliases": {"a": "c"}, "catch_all": ["a"]}, "after aliases.*'a'.*There are: 'b', 'c'"),
        ([["a", "b"], ["b", "c"]], {"catch_all": ["b"], "keep_apart": ["b"]}, "either in `catch_all` or.*'b' in both"),
        (
            [["a", "b", "d"], ["b", "c"]],
            {"catch_all": ["b", "c", "d"]},
            "a label of teacher '1' that is not in `catch_all`.*'b', 'c'",
        ),
        ([["a", "b"], ["c"]], {}, "at least 2 labels from teacher '1'.*'c'"),
        ([["a", "b"], []], {"teacher_names": ["x", "y"]}, "at least 2 labels from teacher 'y'"),
        ([["a", " a "]], {}, "different labels within teacher '0'.*'a' more than once"),
        ([["a", " "]], {}, "a name for every label of teacher '0'.*position 1"),
        ([["a", 1]], {}, "list of label names"),
        (["ab"], {}, "list of label names"),
        ([["a", "b"]], {"teacher_names": ["x", "y"]}, "one name for each of 1"),
        ([["a", "b"]], {"aliases": {"a": "b"}}, "teacher '0', after aliases.*'b' more than once"),
        ([["apple", "b"]], {"aliases": {"aple": "b"}}, "alias.*'aple'.*Did you mean 'apple'"),
        ([["a", "b"], ["c", "d"]], {"aliases": {"a": "c", "c": "d"}}, "'a' -> 'c' -> 'd'.*`a: d`"),
        ([["a", "b"]], {"aliases": {"a": " "}}, "a name for the alias of 'a'"),
        ([["a", "b"]], {"keep_apart": "a"}, "list of label names to keep apart"),
        ([["apple", "b"]], {"keep_apart": ["aple"]}, "keep apart.*Did you mean 'apple'"),
        ([["a", "b"], ["a", "c"]], {"keep_apart": True}, "different name for each teacher.*no names"),
        (
            [["a", "b"], ["a", "c"]],
            {"keep_apart": True, "teacher_names": ["x", "x"]},
            "different name for each teacher.*'x', 'x'",
        ),
        (
            [["a", "y/a"], ["a", "c"]],
            {"keep_apart": True, "teacher_names": ["x", "y"]},
            "no label that equals another teacher's",
        ),
    ],
)
def test_union_refuses(teachers, options, message):
    with pytest.raises(AlloyError, match=message):
        LabelSpace.union(teachers, **options)
