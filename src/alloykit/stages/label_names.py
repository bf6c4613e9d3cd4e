"""What the names of labels suggest: two spellings of one name, a label that means "none of this teacher's other labels", and a teacher that answers
another question than the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from alloykit.labels import LabelSpace
from alloykit.names import as_it_looks, escaped, quoted, short
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.yaml_files import yaml_on_one_line

CATCH_ALL = frozenset(
    (
        "fallback", "misc", "miscellaneous", "no intent", "none", "none of the above", "none of these", "oos", "other", "others", "out of domain",
        "out of scope", "rest", "something else", "unknown",
    )
)  # fmt: skip

SCALES = {  # usual answers to a question that a text can be asked besides its topic
    "sentiment": ("negative", "neutral", "positive", "mixed", "neg", "neu", "pos", "very negative", "very positive"),
    "emotion": ("anger", "disgust", "fear", "happiness", "joy", "love", "neutral", "sadness", "surprise"),
    "stars": ("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
    "yes or no": ("yes", "no"),
    "true or false": ("true", "false"),
    "entailment": ("contradiction", "entailment", "neutral", "not entailment"),
}


def label_warnings(
    space: LabelSpace, teachers: Sequence[str], options: LabelOptions, *, multi_label: bool = False
) -> list[str]:
    """What to check, for each pair of spellings, each teacher that seems to answer another question than the others, and, if the recipe has no
    `catch_all`, each label with a usual name for "none of the others".

    multi_label: the teachers may give a text several labels, so none of their labels has this meaning."""

    def whose(name: str) -> str:
        return quoted(t for t, labels in zip(teachers, space.teachers, strict=True) if name in labels)

    def block(**values: Any) -> str:
        return f"`labels: {yaml_on_one_line(values)}`"

    def pair(name: str, other: str) -> str:
        teachers_of, aliases = (whose(name), whose(other)), block(aliases={name: other})
        if any(as_it_looks(each) != each for each in (name, other)):
            name, other = escaped(name), escaped(other)
            aliases = f'`labels: {{aliases: {{"{name}": "{other}"}}}}`'
        return (
            f"labels '{short(name)}' ({teachers_of[0]}) and '{short(other)}' ({teachers_of[1]}) are two classes, although only case, spaces, hyphens or "
            f"underscores, invisible characters or the code of a letter differ. If they are one class, set {aliases}."
        )

    found = [pair(name, other) for name, other in spellings(space).items()]
    found += [
        f"teacher '{teachers[i]}' seems to answer another question than {quoted(t for n, t in enumerate(teachers) if n != i)}: its labels are "
        f"{quoted(space.teachers[i])}. The student gives each text one label out of all. Give each question its own teachers with `questions:` if a text "
        f"can have a label of '{teachers[i]}' and one of another teacher."
        for i in (() if multi_label else other_questions(space))
    ]
    for name in likely_catch_all(space) if options.catch_all is None and not multi_label else ():
        setting = block(catch_all=[name])
        if name in space.catch_all:
            found.append(
                f"label '{short(name)}' of teachers {whose(name)} is taken for 'none of this teacher's other labels', as with {setting}: a text that gets it is left to the teachers "
                f"that name a label. If it is a class like any other, set {block(catch_all=[])}. If it is a different class for each teacher, set "
                f"{block(keep_apart=[name])}."
            )
        else:
            found.append(
                f"label '{short(name)}' of teacher {whose(name)}: if it means 'none of this teacher's other labels', set {setting}. A text that gets it is then left to the teachers "
                f"that name a label. If not, {block(catch_all=[])} turns this warning off."
            )
    return found


def with_usual_catch_all(space: LabelSpace, options: LabelOptions) -> LabelSpace:
    """If the recipe has no `catch_all`: with the labels of several teachers that have a usual name for it. A label `other` that is one class for
    several teachers can hardly mean anything else."""
    if options.catch_all is not None:
        return space
    shared = space.shared()
    return replace(space, catch_all=tuple(name for name in likely_catch_all(space) if name in shared))


def spellings(space: LabelSpace) -> dict[str, str]:
    """Label -> an earlier label of the union that is probably the same: only case, spaces, hyphens and underscores inside the name, and what nobody sees
    (`as_it_looks`), differ. Names that
    one teacher has in two spellings are left out. So all can be aliases."""
    groups = dict[str, list[str]]()
    for name in space.names:
        groups.setdefault(_plain(name).replace(" ", ""), []).append(name)
    alike = [names for names in groups.values() if all(len(set(names) & set(labels)) < 2 for labels in space.teachers)]
    return {name: first for first, *others in alike for name in others}


def other_questions(space: LabelSpace) -> list[int]:
    """The teachers whose labels are all of one scale, such as positive and negative, if some other teacher has a label that is not on it."""
    plain = [{_plain(name) for name in labels} for labels in space.teachers]
    everything = set[str]().union(*plain)
    return [
        i
        for i, labels in enumerate(plain)
        if any(labels <= set(scale) and not everything <= set(scale) for scale in SCALES.values())
    ]


def likely_catch_all(space: LabelSpace) -> list[str]:
    """The labels with a usual name for "none of the others". None if all teachers have the same labels, or if a teacher has only such labels."""
    likely = [name for name in space.names if _plain(name) in CATCH_ALL]
    sets = [set(labels) for labels in space.teachers]
    return [] if all(s == sets[0] for s in sets) or any(s <= set(likely) for s in sets) else likely


def _plain(name: str) -> str:
    """As it looks, in lower case, with one space in place of spaces, hyphens and underscores between letters or digits, but not between two digits."""
    return re.sub(r"(?<=[^\W_])(?!(?<=\d)[\s_-]+\d)[\s_-]+(?=[^\W_])", " ", as_it_looks(name).casefold())
