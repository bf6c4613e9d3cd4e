"""Names in messages, similar names, and a teacher's label names after the recipe's renaming."""

from __future__ import annotations

import difflib
import re
import reprlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.escape import visible

NAMED = 30  # names in one sentence
_VARIANTS = frozenset(map(chr, range(0xFE00, 0xFE10)))  # how an emoji is drawn
_ANONYMOUS = re.compile(r"(label[ _-]?)?\d+", re.IGNORECASE)


def nearest_name(name: str, names: Iterable[str]) -> str:
    """The name that was probably meant, in upper or lower case; "" if none is similar."""
    lowered = {other.lower(): other for other in names}
    found = difflib.get_close_matches(name.lower(), lowered, n=1)
    return lowered[found[0]] if found else ""


def as_it_looks(name: str) -> str:
    """The name without what nobody sees: in Unicode's form NFKC, in which é is one character, and without invisible characters."""
    shown = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf" and c not in _VARIANTS)
    return "".join(shown)


def alike(names: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Name -> a name of `others` that is another one, but looks the same."""
    looks = {as_it_looks(other): other for other in others}
    found = {name: looks.get(as_it_looks(name), name) for name in names}
    return {name: other for name, other in found.items() if other != name}


def escaped(name: str) -> str:
    """The name in ASCII, `caf\\xe9`, to show how names differ that look the same. YAML reads it between double quotes."""
    return "".join(f"\\{c}" if c in '\\"' else c if " " <= c <= "~" else ascii(c)[1:-1] for c in name)


def quoted(names: Iterable[object] | None) -> str:
    """Names in quotes, as a list in a sentence. Very long names and lists are cut. "" if there are none."""
    return first_of([f"'{short(name)}'" for name in names or []])


def first_of(names: Sequence[str]) -> str:
    """A list in a sentence, cut after `NAMED` names. "" if there are none."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")


def counted(number: float, unit: str) -> str:
    """A number with its unit: "1 text", "1,500 texts". `unit` is the singular."""
    return f"{number:,.12g} {unit}{'' if number == 1 else 's'}"


def short(name: object) -> str:
    """A name on one line, cut to 40 characters. It may be a text (the first line of a csv without a header), and messages must not leak texts."""
    return visible(str(name) if len(str(name)) <= 40 else f"{str(name)[:40]}…")


class _Shown(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple, self.maxset, self.maxfrozenset = 3, 4, 6, 6, 6, 6
        self.maxstring, self.maxother = 80, 80

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print large ones.
        return repr(x) if abs(x) < 10**30 else f"an integer of {x.bit_length():,} bits"


def shown(value: object) -> str:
    """Any value in a message: at most 200 characters of its repr, computed quickly also for large values."""
    return (text := _Shown().repr(value))[:200] + ("…" if len(text) > 200 else "")


def unknown_name(expected: str, got: str, names: Sequence[str]) -> AlloyError:
    """The error for a name that is not one of `names`. It suggests the most similar one."""
    if same := alike([got], names):
        hint = f'"{escaped(same[got])}" looks the same, but is another name. Write it like that.'
        return AlloyError(expected=expected, got=f'"{escaped(got)}"', hint=hint)
    guess = nearest_name(got, names)
    hint = f"Did you mean '{guess}'? " if guess else ""
    return AlloyError(expected=expected, got=f"'{short(got)}'", hint=f"{hint}There are: {quoted(names)}.")


def refuse_single(values: object, name: str) -> None:
    """AlloyError for a text or a path as the argument `name`, which wants a list: Python would read it letter by letter."""
    if isinstance(values, (str, Path)):
        raise AlloyError(expected=f"a list as `{name}`", got=shown(values), hint=f"For instance {name}=['…'].")


def clean_names(names: Sequence[str], owner: str, hint: str = "") -> tuple[str, ...]:
    """The names without spaces at their ends. AlloyError, with this hint, for anything but a list of different, non-empty names."""
    cleaned = _stripped(names, owner)
    if "" in cleaned:
        got = f"an empty one at position {cleaned.index('')}"
        raise AlloyError(expected=f"a name for every label of {owner}", got=got, hint=hint)
    refuse_repeats(cleaned, owner, hint)
    return cleaned


def _stripped(names: Sequence[str], owner: str) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise AlloyError(expected=f"a list of label names for {owner}", got=shown(names))
    return tuple(name.strip() for name in names)


def refuse_repeats(names: Sequence[str], owner: str, hint: str = "") -> None:
    """AlloyError, with this hint, if a name occurs twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        got = f"{quoted(repeated)} more than once"
        raise AlloyError(expected=f"different labels within {owner}", got=got, hint=hint)


def is_anonymous(names: Iterable[str]) -> bool:
    """Whether any name is a placeholder such as LABEL_0 (in upper or lower case).

    One is enough: the LABEL_1 of two teachers would be joined as one class, although they may be different.
    """
    return any(_ANONYMOUS.fullmatch(name.strip()) for name in names)


def refuse_placeholders(names: Iterable[str], teacher: str) -> None:
    """AlloyError for placeholders such as LABEL_0. A number alone is allowed here, because the user may have listed it as a name, for instance of a rating."""
    if found := [name for name in names if _ANONYMOUS.fullmatch(name) and not name.isdecimal()]:
        raise AlloyError(
            expected=f"real label names for teacher '{teacher}', since labels are joined by name",
            got=quoted(found),
            hint="Give them in `labels:` of this teacher. If they are names of columns or answers in a file, change them there.",
        )


def rename(names: Sequence[str], mapping: Mapping[Any, str], teacher: str) -> tuple[str, ...]:
    """The teacher's label names, in logit order, after the recipe's `labels:` mapping.

    mapping: label name, or its position as an int or a string, -> new name. Other labels keep their names. A key
    that is both a name and a position is read as a name. Names that are empty or not unique need a position. teacher: its name, for messages.

    Raises AlloyError for unknown or repeated keys, values that are not names, and results that are empty,
    not unique, or still anonymous (LABEL_0).
    """
    old = _stripped(names, f"teacher '{teacher}'")
    by_position = 'Name it by its position, in the recipe under this teacher: `labels: {"1": bug}`.'
    new: dict[int, str] = {}
    for key, value in mapping.items():
        if isinstance(key, bool) or not isinstance(value, str):
            # YAML reads unquoted yes, no, on, off as true and false, and 1 as a number.
            raise AlloyError(
                expected=f"names in `labels:` of teacher '{teacher}'",
                got=f"{shown(key)}: {shown(value)}",
                hint="Put quotes around names such as 'yes', 'no' and '1'.",
            )
        word = str(key).strip()
        number = int(word) if word.isascii() and word.isdecimal() else -1
        if old.count(word) > 1:
            wanted = f"different labels within teacher '{teacher}'"
            raise AlloyError(expected=wanted, got=f"'{short(word)}' more than once", hint=by_position)
        if word not in old and not 0 <= number < len(old):
            raise unknown_name(f"a label of teacher '{teacher}', or its position", word, old)
        place = old.index(word) if word in old else number
        if place in new:
            wanted = f"each label of teacher '{teacher}' once in `labels:`"
            raise AlloyError(expected=wanted, got=f"{quoted([old[place]])} again, as {shown(key)}")
        new[place] = value
    owner = f"teacher '{teacher}'" + (", after renaming" if new else "")
    result = clean_names([new.get(i, name) for i, name in enumerate(old)], owner, by_position)
    if is_anonymous(result):
        raise AlloyError(
            expected=f"real label names for teacher '{teacher}', since labels are joined by name",
            got=quoted(result),
            hint=f"Give them in the recipe, under this teacher: `labels: {{{_example(result)}}}`.",
        )
    return result


def _example(names: Sequence[str]) -> str:
    """Two of these names as keys in YAML, with names to replace them. A number needs quotes, because keys are names."""
    keys = [f'"{name}"' if name.isdecimal() else name for name in names]
    return ", ".join(f"{key}: {new}" for key, new in zip(keys, ("bug", "login"), strict=False))
