"""What the names of labels suggest."""

from __future__ import annotations

import pytest

from alloykit.data import load_texts
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.reporting.next_steps import instructions
from alloykit.stages.label_names import (
    label_warnings,
    likely_catch_all,
    other_questions,
    spellings,
    with_usual_catch_all,
)
from alloykit.stages.recipe_texts import label_positions
from alloykit.yaml_files import parse_yaml

NAMES = ["x", "y", "z"]


@pytest.mark.parametrize(
    ("sets", "found"),
    [
        ([("a", "b"), ("c", "d")], {}),
        ([("Log in", "b"), ("log-in", "d"), ("LOGIN", "e")], {"log-in": "Log in", "LOGIN": "Log in"}),
        ([("Refund", "refund"), ("REFUND", "d")], {}),  # one teacher has both
        ([("C", "b"), ("C++", "d"), ("c#", "e"), ("A-", "f"), ("a", "h")], {}),  # other classes
        ([("1-2", "b"), ("12", "d"), ("covid_19", "e"), ("Covid 19", "f")], {"Covid 19": "covid_19"}),
        ([("café", "b"), ("cafe\u0301", "d"), ("caf\u200bé", "e")], {"cafe\u0301": "café", "caf\u200bé": "café"}),
        ([("late fee", "b"), ("Late\u00a0Fee", "d")], {"Late\u00a0Fee": "late fee"}),
        ([("+", "b"), ("-", "d"), ("体育", "e"), ("體育", "f")], {}),
    ],
)
def test_spellings_of_one_name(sets: list[tuple[str, ...]], found: dict[str, str]) -> None:
    assert spellings(LabelSpace.union(sets)) == found
    LabelSpace.union(sets, aliases=found)  # all can be aliases


@pytest.mark.parametrize("name", ["cafe\u0301", "caf\u200bé", "café\u2060", "Cafe\u0301"])
def test_a_warning_of_names_that_look_the_same_shows_how_they_differ_and_can_be_copied(name: str) -> None:
    (warning,) = label_warnings(LabelSpace.union([("café", "b"), (name, "d")]), NAMES[:2], LabelOptions())
    assert warning.isascii()
    assert r"caf\xe9" in warning
    settings = parse_yaml(warning.split("`")[1], "it")
    assert settings == {"labels": {"aliases": {name: "café"}}}
    assert LabelSpace.union([("café", "b"), (name, "d")], aliases=settings["labels"]["aliases"]).names == (
        "café",
        "b",
        "d",
    )


def test_a_label_of_the_data_that_looks_like_one_of_the_union() -> None:
    texts = load_texts([{"text": "a", "label": "cafe\u0301"}], want_labels=True)
    with pytest.raises(AlloyError, match=r'such as "caf\\xe9"; got "cafe\\u0301", which looks the same'):
        label_positions(texts, LabelSpace.union([("café", "b")]))


def test_usual_names_for_none_of_the_others() -> None:
    sets = [("a", "Out-of-scope"), ("b", "OOS"), ("c", "other colour"), ("d", "none_of_these")]
    assert likely_catch_all(LabelSpace.union(sets)) == ["Out-of-scope", "OOS", "none_of_these"]
    assert likely_catch_all(LabelSpace.union([("a", "other"), ("other", "a")])) == []  # the same labels
    assert likely_catch_all(LabelSpace.union([("a", "other"), ("none", "other")])) == []  # one has only such labels


def test_warnings_say_whose_label_it_is_and_what_to_set() -> None:
    space = LabelSpace.union([("a", "Other", "pay"), ("b", "none"), ("Pay", "b", "none")])
    taken = with_usual_catch_all(space, LabelOptions())
    assert taken.catch_all == ("none",)  # only one teacher has Other
    assert with_usual_catch_all(space, LabelOptions(catch_all=[])) == space
    pair, other, none = label_warnings(taken, NAMES, LabelOptions())
    assert pair.startswith("labels 'Pay' ('z') and 'pay' ('x') are two classes")
    assert "`labels: {aliases: {Pay: pay}}`" in pair
    assert other.startswith("label 'Other' of teacher 'x': ")
    assert none.startswith("label 'none' of teachers 'y', 'z' is taken for")
    assert "set `labels: {catch_all: []}`" in none
    assert "set `labels: {keep_apart: [none]}`" in none
    for said in ([], ["none"]):
        assert label_warnings(space, NAMES, LabelOptions(catch_all=said)) == [pair]
    assert label_warnings(space, NAMES, LabelOptions(), multi_label=True) == [pair]


@pytest.mark.parametrize(
    ("sets", "found"),
    [
        ([("sports", "politics"), ("Positive", "negative")], [1]),
        ([("Yes", "no"), ("sports", "politics"), ("very_negative", "neutral", "very-positive")], [0, 2]),
        ([("entailment", "contradiction"), ("positive", "negative", "neutral")], [0, 1]),
        ([("positive", "negative"), ("neutral", "positive")], []),  # one question
        ([("entailment", "neutral"), ("neutral", "contradiction")], []),
        ([("positive", "spam"), ("sports", "politics")], []),  # not all on the scale
        ([("joy", "no"), ("sports", "politics")], []),  # of two scales
    ],
)
def test_a_teacher_that_answers_another_question(sets: list[tuple[str, ...]], found: list[int]) -> None:
    space = LabelSpace.union(sets)
    assert other_questions(space) == found
    told = label_warnings(space, NAMES[: len(sets)], LabelOptions(catch_all=[]))
    assert len(told) == len(found)
    for i, warning in zip(found, told, strict=True):
        others = ", ".join(f"'{name}'" for n, name in enumerate(NAMES[: len(sets)]) if n != i)
        assert warning.startswith(
            f"teacher '{NAMES[i]}' seems to answer another question than {others}: its labels are"
        )
        (step,) = instructions(warning)  # the report's next step
        assert step.startswith("Give each question its own teachers with `questions:`")
        assert f"a label of '{NAMES[i]}'" in step
    assert label_warnings(space, NAMES[: len(sets)], LabelOptions(catch_all=[]), multi_label=True) == []


def test_what_they_say_can_be_copied_into_a_recipe() -> None:
    space = LabelSpace.union([("a: b", "Yes"), ("c", "yes"), ("A: B", "d")])
    for warning in label_warnings(space, NAMES, LabelOptions()):
        block = warning.split("`labels: ")[1].split("`")[0]
        (pair,) = LabelOptions.model_validate(parse_yaml(block, "the warning")).aliases.items()
        assert pair in (("yes", "Yes"), ("A: B", "a: b"))
