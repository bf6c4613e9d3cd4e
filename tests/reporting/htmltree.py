"""A page as a tree, with the parser of the standard library; a tag that is not closed where it should be is an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def all(self, *tags: str) -> list[Node]:
        """Every element below this one with one of these tags (any, without tags), in the order of the page."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                found += ([child] if not tags or child.tag in tags else []) + child.all(*tags)
        return found

    def one(self, tag: str) -> Node:
        (found,) = self.all(tag)
        return found

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def words(self) -> str:
        """Its text with every run of ordinary white space as one space; spaces that do not break stay."""
        return " ".join(self.text.replace("\u00a0", "\x00").split()).replace("\x00", "\u00a0")


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice: {names}"
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(page: str) -> Node:
    builder = _Builder()
    builder.feed(page)
    builder.close()
    assert builder.open == [builder.root], f"not closed: {[node.tag for node in builder.open]}"
    return builder.root


def section(page: Node, heading: str) -> list[Node]:
    """What stands between this heading and the next of its level or above."""
    flow = page.one("main").children
    nodes = [node for node in flow if isinstance(node, Node)]
    start = next(i for i, node in enumerate(nodes) if node.tag in ("h2", "h3") and node.words == heading)
    level = nodes[start].tag
    end = next((i for i, n in enumerate(nodes) if i > start and n.tag[0] == "h" and n.tag <= level), len(nodes))
    return nodes[start + 1 : end]


def table_in(page: Node, heading: str) -> Node:
    """The table under this heading."""
    return next(table for node in section(page, heading) for table in node.all("table"))


def said_under(page: Node, heading: str) -> str:
    return " ".join(node.words for node in section(page, heading))


def rows(table: Node) -> list[list[str]]:
    """Every row's cells, the head first."""
    return [[cell.words for cell in row.all("th", "td")] for row in table.all("tr")]
