"""The page of `alloykit serve` in a real browser: a text is typed, the answer is shown, and nothing is code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from browsing import browse, needs_browser

sys.path.insert(0, str(Path(__file__).parents[1] / "web"))

from running import Fake, running

from alloykit.finished_runs.explain_text import Explanation, TeacherAnswer
from alloykit.web import page_routes

pytestmark = [pytest.mark.slow, needs_browser]

EVIL = "<img src=x onerror=alert(1)>"
DRIVE = """
window.addEventListener("load", () => {
  part("text").value = "TEXT";
  new MutationObserver(() => {
    const root = document.documentElement;
    root.dataset.wide = String(root.scrollWidth - root.clientWidth);
  }).observe(part("status"), { childList: true });
  form.requestSubmit();
});
"""


class Explainer:
    """Two teachers with strange names."""

    method, is_pair = "a method", False

    def explain(self, text: str, pair: str | None) -> Explanation:
        answer = {EVIL: 0.75, "odd" * 40: 0.25}
        return Explanation(
            "stored", [TeacherAnswer(EVIL, answer, 0.9), TeacherAnswer("second", answer, 0.1)], answer, 0.5
        )


@pytest.mark.parametrize("width", [500, 1280])
def test_a_text_is_classified_and_everything_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    plain = page_routes.asset

    def driven(name: str) -> Any:
        more = DRIVE.replace("TEXT", EVIL).encode() if name == "try.js" else b""
        return plain(name) + more

    monkeypatch.setattr(page_routes, "asset", driven)
    fake = Fake(labels=(EVIL, "odd" * 40))
    with running(fake, explainer=Explainer()) as site:
        seen = browse(
            tmp_path / "profile", "--virtual-time-budget=5000", f"--window-size={width},900", "--dump-dom", site.address
        )
    assert seen.console == []
    assert '<p class="headline" id="headline">&lt;img src=x onerror=alert(1)&gt;: 75.0 %</p>' in seen.out
    assert "<img" not in seen.out
    assert "These are the teachers' stored answers" in seen.out
    assert "Share of each teacher in the target" in seen.out
    assert 'data-wide="0"' in seen.out, "nothing is wider than the page"
