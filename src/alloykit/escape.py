"""Make foreign text safe for the terminal, JSON and Markdown. HTML has jinja's autoescape, and invisible characters go through `visible` there
as well.

Foreign text is every text that alloykit did not write itself: labels, teachers' names, licences, paths, texts, and warnings that quote them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup

# Control characters (C0, DEL, C1), line separators, marks that change the direction of writing, invisible characters, and
# halves of surrogate pairs. A terminal executes them or cannot print them, and a reader does not see them. The joiners U+200C and
# U+200D are allowed, because many scripts and emoji need them.
_INVISIBLE = (
    "\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_ANY = re.compile(f"[\x00-\x1f{_INVISIBLE}]")
_ANY_EXCEPT_LINES = re.compile(f"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")


def visible(text: object, *, lines: bool = False) -> str:
    """The text with every control character written out, ESC as `\\x1b`: safe to print to a terminal.

    Line breaks and tabs are written out too, so that a name cannot imitate a line of output. `lines`: keep them, for text whose
    lines alloykit wrote.
    """
    return (_ANY_EXCEPT_LINES if lines else _ANY).sub(lambda match: ascii(match[0])[1:-1], str(text))


def to_json(value: Any, indent: int | None = None, *, ascii_only: bool = False) -> str:
    """JSON with readable letters; control characters are escaped (`\\uXXXX`). ascii_only: all characters outside of ASCII are escaped, too. Every JSON
    reader gives the same text."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    return _ANY_EXCEPT_LINES.sub(lambda match: json.dumps(match[0])[1:-1], text)


_SPECIAL = re.compile(r"[\\`*\[\]|~$]|<(?![ =\d])|&(?! )|(?<![^\W_])_|_(?![^\W_])")
_LEADING = re.compile(r"^([#+=:>-]|\d{1,9}(?=[.)](?:\s|$)))")
_LINK = re.compile(r"://|@|www\.|(?:mailto|xmpp):", re.IGNORECASE)
_JOINT = re.compile(r"(?<=[:@])|(?<=www)(?=\.)", re.IGNORECASE)
_SEPARATOR = "<!-- -->"  # separates the parts of an address, which many renderers would otherwise turn into a link


def markdown(text: object) -> Markup:
    """The text as part of one line of Markdown that shows exactly this text, without a heading, link, image, HTML, table or code.

    Every run of spaces and line breaks becomes one space. `Markup` is already Markdown and is returned unchanged.
    """
    if isinstance(text, Markup):
        return text
    words = visible(re.sub(r"[ \t\r\n]+", " ", str(text)).strip(" "))
    words = _SPECIAL.sub(lambda match: "&amp;" if match[0] == "&" else f"\\{match[0]}", words)
    words = _LEADING.sub(lambda match: f"&#{ord(match[1][0])};{match[1][1:]}", words)
    return Markup(_JOINT.sub(_SEPARATOR, words) if _LINK.search(words) else words)


def markdown_sentence(text: object) -> Markup:
    """A sentence of alloykit with `commands` in it, as Markdown. The commands become code, everything else is shown as it is."""
    parts = re.split(r"`([^`]+)`", str(text))
    return Markup("".join(code(part) if i % 2 else _within(part) for i, part in enumerate(parts)))


def _within(text: str) -> str:
    """Part of a line. Spaces at its ends are kept."""
    return " " * text[:1].isspace() + markdown(text) + " " * (text[-1:].isspace() and bool(text.strip()))


def code(text: object) -> Markup:
    """The text as inline code, with a fence longer than any in the text."""
    words = visible(" ".join(str(text).split())) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", words)), default=0) + 1)
    space = " " if words.startswith("`") or words.endswith("`") else ""
    return Markup(f"{fence}{space}{words}{space}{fence}")


def code_block(text: object, language: str = "") -> Markup:
    """The text as a code block, with a fence longer than any in the text."""
    words = visible(text, lines=True)
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", words)), default=0) + 1)
    return Markup(f"{fence}{language}\n{words}\n{fence}")


def last_part(path: object) -> str:
    """The last part of a local path: others need not know the folders."""
    parts = [part for part in re.split(r"[\\/]+", str(path)) if part not in ("", ".")]
    return parts[-1] if parts else "."
