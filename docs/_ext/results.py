"""Show the committed benchmark pages among the documentation: they are copied to docs/results before Sphinx looks for pages.

Links between docs/ and benchmarks/results/ are written for a reader of the repository, and changed here for the built pages.
"""

import re
import shutil
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
RESULTS, COPIES = DOCS.parent / "benchmarks" / "results", DOCS / "results"
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def for_results(text: str) -> str:
    """A result page's text as it stands in docs/results. Files outside of the documentation lose their links."""

    def change(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if target.startswith("../../docs/"):
            return f"](../{target.removeprefix('../../docs/')}{anchor})"
        if "://" in target or (RESULTS / target).suffix in (".md", ".svg"):
            return link[0]
        return f"](#{UNLINKED})"

    changed = LINK.sub(change, text)
    return re.sub(rf"(?<!!)\[([^\]]+)\]\(#{UNLINKED}\)", r"\1", changed)


UNLINKED = "not-in-the-documentation"


def for_docs(app: Any, docname: str, source: list[str]) -> None:
    """A page's links to benchmarks/results, as links to the copies. Other files outside of the documentation lose their links."""
    depth = docname.count("/")
    up = "../" * (depth + 1)
    text = source[0].replace(f"]({up}benchmarks/results/", f"]({'../' * depth}results/")
    source[0] = re.sub(rf"(?<!!)\[([^\]]+)\]\({re.escape(up)}[^)]*\)", r"\1", text)


def copy(app: Any, config: Any) -> None:
    """Copy every page and figure that changed."""
    for path in sorted([*RESULTS.glob("*.md"), *RESULTS.glob("*/*.svg")]):
        place = COPIES / path.relative_to(RESULTS)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = for_results(path.read_text(encoding="utf-8"))
            if not place.exists() or place.read_text(encoding="utf-8") != text:
                place.write_text(text, encoding="utf-8")
        else:
            shutil.copy2(path, place)


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", copy)
    app.connect("source-read", for_docs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
