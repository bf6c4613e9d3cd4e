"""Foreign text on a terminal, in JSON and in Markdown shows itself and does nothing else."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from alloykit.escape import code, code_block, last_part, markdown, markdown_sentence, to_json, visible

quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)

HOSTILE = [
    "# a heading", "Setext\n===", "- an item", "+ an item", "1. an item", "12) an item", "> a quotation", "```\ncode\n```", "~~~",
    "    indented", "***", "---", ":-", "|a|b|\n|-|-|\n|c|d|", "[a link](https://example.com)", "![an image](x.png)", "[a]: /x",
    "<script>alert(1)</script>", "<https://example.com>", "https://example.com", "www.example.com", "a@example.com", "`code`", "``",
    "*strong*", "__strong__", "~~gone~~", "$x$", "&lt;b&gt;", "&#35; x", "\\", "a\\", "`", "a  \nb", "\x1b[31mred", "\x9b31m", "\u202ereversed",
    "\r\x1b[2K", "\x00", "\ud800", "label\nwarning: forged", "[red]x[/red]", "[/]", "", " ", "\u2028", "]]>", "<!-- x -->", "a_b_c", "_a_",
    "mailto:a@example.com", "<!--", "-->", "{{ x }}", "{% raw %}", "\U000e0041", "e\u0301", "👩\u200d👩", "می\u200cخواهم",
]  # fmt: skip
PIECES = st.sampled_from([*HOSTILE, *"#-+*_`~|[]()<>!&\\:@. \n\t\r1=$", "www.", "https://", "b", "é"])
FOREIGN = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.lists(PIECES, max_size=8).map("".join),
    st.text(st.characters(codec=None), max_size=12),
)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# What renderers that make links of bare addresses look for in a text node (mdast-util-gfm-autolink-literal).
BARE = re.compile(r"(https?://|www(?=\.))([-.\w]+)|(?<![\w])[-.\w+]+@[-\w]+(?:\.[-\w]+)+", re.IGNORECASE)


def shown(tokens: list[Token]) -> list[str]:
    """The text nodes of a line; anything else fails."""
    found = []
    for token in tokens:
        if token.type in ("text", "text_special"):
            found.append(token.content)
        elif token.type == "html_inline":
            assert token.content == "<!-- -->", token
            found.append("")
        else:
            raise AssertionError(f"{token.type}: {token.content!r}")
    return found


def nodes(tokens: list[Token]) -> list[str]:
    """Text between comments, as a renderer joins it."""
    joined = [""]
    for token in tokens:
        if token.type == "html_inline":
            joined.append("")
        else:
            joined[-1] += token.content
    return joined


@given(FOREIGN)
@quick
def test_what_is_visible_has_no_control_character(text: str) -> None:
    for lines in (False, True):
        found = visible(text, lines=lines)
        kept = "\n\t" if lines else ""
        assert not [c for c in found if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in kept]
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]", found)
        found.encode()
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize("text", ["refund", "Größe", "退款", "e\u0301", "👩\u200d👩", "می\u200cخواهم", "a-b_c.d/e (f)"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_control_characters_are_written_out() -> None:
    assert visible("\x1b[31mred\x9b\u202e\n") == "\\x1b[31mred\\x9b\\u202e\\n"
    assert visible("a\n\tb\r", lines=True) == "a\n\tb\\r"


@given(st.recursive(FOREIGN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FOREIGN, inner, max_size=3)))
@quick
def test_json_keeps_the_value_and_controls_nothing(value: object) -> None:
    for indent in (None, 2):
        text = to_json(value, indent)
        assert json.loads(text) == value
        assert visible(text, lines=True) == text


def test_json_keeps_letters_readable() -> None:
    assert to_json({"label": "Größe 退款"}) == '{"label": "Größe 退款"}'


@given(FOREIGN)
@quick
def test_markdown_shows_the_text_and_nothing_else(text: str) -> None:
    wanted = visible(re.sub(r"[ \t\r\n]+", " ", text).strip(" "))
    for before, after in (("", ""), ("- Warning: ", ""), ("# The run ", ": a title"), ("**", "x**")):
        line = f"{before}{markdown(text)}{after}"
        assert "\n" not in line
        tokens = PARSER.parse(line)
        inline = [token for token in tokens if token.type == "inline"]
        kinds = [token.type for token in tokens if token.type != "inline"]
        if before == "" and wanted:
            assert kinds == ["paragraph_open", "paragraph_close"], (kinds, line)
            assert "".join(shown(inline[0].children or [])) == wanted
            assert not any(BARE.search(node) for node in nodes(inline[0].children or [])), line
        elif before.startswith("- "):
            assert kinds == [
                "bullet_list_open",
                "list_item_open",
                "paragraph_open",
                "paragraph_close",
                "list_item_close",
                "bullet_list_close",
            ]
            assert "".join(shown(inline[0].children or [])) == f"Warning: {wanted}".strip(" ")
        elif before.startswith("# "):
            assert kinds == ["heading_open", "heading_close"]
            assert "".join(shown(inline[0].children or [])) == f"The run {wanted}: a title"


@given(st.lists(FOREIGN, min_size=3, max_size=3))
@quick
def test_a_cell_stays_a_cell(cells: list[str]) -> None:
    table = f"| a | b | c |\n|---|---|---|\n| {' | '.join(map(markdown, cells))} |\n| 1 | 2 | 3 |\n"
    tokens = PARSER.parse(table)
    inline = [token for token in tokens if token.type == "inline"]
    assert len(inline) == 9
    assert [t.type for t in tokens].count("tr_open") == 3
    wanted = [
        visible(re.sub(r"[ \t\r\n]+", " ", cell)).strip() for cell in cells
    ]  # around a cell no space of any kind is shown
    assert ["".join(shown(t.children or [])).strip() for t in inline[3:6]] == wanted


@given(FOREIGN)
@quick
def test_code_ends_where_it_should(text: str) -> None:
    block = PARSER.parse(f"before\n\n{code_block(text, 'yaml')}\n\nafter")
    assert [t.type for t in block if t.type not in ("paragraph_open", "paragraph_close")] == [
        "inline",
        "fence",
        "inline",
    ]
    assert block[3].content == visible(text, lines=True) + "\n"
    children = PARSER.parse(f"x {code(text)} y")[1].children or []
    assert [t.type for t in children] == ["text", "code_inline", "text"]


@given(FOREIGN)
@quick
def test_commands_in_a_sentence_become_code(text: str) -> None:
    quoted = text.replace("`", "'")
    children = PARSER.parse(f"- {markdown_sentence(f'Run `alloykit plan`, says {quoted}.')}")[3].children or []
    assert [t.content for t in children if t.type == "code_inline"] == ["alloykit plan"]
    assert {t.type for t in children} <= {"text", "text_special", "code_inline", "html_inline"}
    assert all(t.content == "<!-- -->" for t in children if t.type == "html_inline")


@pytest.mark.parametrize(
    ("path", "name"),
    [("/home/me/teachers/billing", "billing"), ("teachers/billing/", "billing"), ("C:\\me\\billing", "billing"), ("billing", "billing"), ("/", "."), (".", "."), ("", ".")],
)  # fmt: skip
def test_the_last_part_of_a_path(path: str, name: str) -> None:
    assert last_part(path) == name
