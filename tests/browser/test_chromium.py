"""Reports in a real browser: they fit a phone and a desk, and are readable in light and in the dark."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import Seen, browse, needs_browser
from PIL import Image

pytestmark = [pytest.mark.slow, needs_browser]

PHONE, DESK = 375, 1280
NAMES = ("tested", "untested", "many labels", "long names", "comparison")
MEASURE = """
const told = {};
for (const frame of document.querySelectorAll("iframe")) {
  const page = frame.contentDocument, root = page.documentElement;
  const wide = () => [root.scrollWidth, root.clientWidth];
  const texts = [];
  for (const svg of page.querySelectorAll("figure svg")) {
    const box = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const t = text.getBoundingClientRect();
      const outside = Math.max(box.left - t.left, t.right - box.right, box.top - t.top, t.bottom - box.bottom);
      texts.push([svg.getAttribute("aria-labelledby"), text.textContent, text.getBBox().width, outside]);
    }
  }
  const closed = wide();
  page.querySelectorAll("details").forEach(details => { details.open = true; });
  told[frame.name] = {closed, open: wide(), texts, media: frame.contentWindow.innerWidth};
}
const out = document.createElement("pre");
out.id = "told";
out.textContent = JSON.stringify(told);
document.body.append(out);
"""


@pytest.fixture(scope="module")
def measured(pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every page in a frame as wide as a phone and in one as wide as a desk, since no window is narrower than 500."""
    folder = tmp_path_factory.mktemp("measured")
    frames = [
        f'<iframe name="{name} {width}" width="{width}" height="800" style="border: 0" '
        f'srcdoc="{html.escape(path.read_text(encoding="utf-8"))}"></iframe>'
        for name, path in pages.items()
        for width in (PHONE, DESK)
    ]
    script = f"<script>window.addEventListener('load', () => {{{MEASURE}}});</script>"
    (folder / "frames.html").write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><body>{"".join(frames)}{script}', encoding="utf-8"
    )
    seen = browse(folder / "profile", "--virtual-time-budget=10000", "--dump-dom", (folder / "frames.html").as_uri())
    told = re.search(r'<pre id="told">(.*?)</pre>', seen.out, flags=re.DOTALL)
    assert told is not None, seen
    assert not seen.console
    return json.loads(html.unescape(told[1]))


@pytest.fixture(scope="module")
def shot(
    pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, bool], tuple[Image.Image, Seen]]:
    folder = tmp_path_factory.mktemp("shots")

    def take(name: str, dark: bool) -> tuple[Image.Image, Seen]:
        path = folder / f"{name}-{dark}.png"
        scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        seen = browse(
            folder / "profile", scheme, "--window-size=1280,2400", f"--screenshot={path}", pages[name].as_uri()
        )
        return Image.open(path).convert("RGB"), seen

    return take


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_the_page(measured: dict[str, Any], name: str, width: int) -> None:
    found = measured[f"{name} {width}"]
    assert found["media"] == width
    for scroll, client in (found["closed"], found["open"]):
        assert client == width
        assert scroll <= client


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", NAMES)
def test_every_word_of_a_drawing_is_drawn_inside_it(measured: dict[str, Any], name: str, width: int) -> None:
    texts = measured[f"{name} {width}"]["texts"]
    assert len(texts) > 5
    assert [text for text in texts if not text[2] > 0] == []
    assert [text for text in texts if text[3] > 2] == []


def colour(path: Path, scheme: str, name: str) -> tuple[int, ...]:
    """A colour of the page's style sheet."""
    blocks = re.findall(r":root \{(.*?)\}", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.search(rf"--{name}: #([0-9a-f]{{6}})", blocks["light dark print".split().index(scheme)])
    assert found is not None
    return tuple(bytes.fromhex(found[1]))


@pytest.mark.parametrize("name", ["tested", "comparison"])
def test_light_and_dark(
    pages: dict[str, Path], shot: Callable[[str, bool], tuple[Image.Image, Seen]], name: str
) -> None:
    for dark, scheme in ((False, "light"), (True, "dark")):
        picture, seen = shot(name, dark)
        assert seen.console == []
        assert picture.getpixel((3, 3)) == colour(pages[name], scheme, "paper")
        colours = {c: n for n, c in picture.getcolors(2**24)}
        for part in ("card", "ink", "series-0", "soft"):
            assert colours.get(colour(pages[name], scheme, part), 0) > 50, (scheme, part)
        assert len(colours) > 100, "a page without letters and drawings"


def test_a_complaint_on_the_console_is_noticed(tmp_path: Path) -> None:
    """So that the other tests mean something when they find none."""
    (tmp_path / "page.html").write_text("<!DOCTYPE html><script>nobody.knows()</script>")
    assert "nobody is not defined" in browse(tmp_path / "p", "--dump-dom", (tmp_path / "page.html").as_uri()).console[0]
