"""Hand-written figures are checked again when their results change."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import checked


def test_the_figures_of_all_texts_were_checked_against_the_committed_results() -> None:
    assert "\n".join(checked.unchecked()) == ""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tables and a text of each kind."""
    for name, value in {
        "ROOT": tmp_path,
        "RESULTS": tmp_path / "results",
        "CHECKED": tmp_path / "results" / "checked.json",
    }.items():
        monkeypatch.setattr(checked, name, value)
    files = {
        "results/muka/table1.json": "1", "results/muka/table1-paper.json": "1", "results/muka/table12.json": "1",
        "results/alloy/outside.json": "1", "benchmarks/muka/notes/table1.md": "", "benchmarks/muka/notes/summary.md": "",
        "docs/guide/page.md": "67.3 (`python -m benchmarks alloy outside --seed 0`)", "docs/guide/other.md": "no figure",
        "docs/guide/all.md": "`python -m benchmarks muka`", "README.md": "", "benchmarks/alloy/summary.md": "",
        "docs/results/muka.md": "`python -m benchmarks muka`", "docs/dev/alloy-history.md": "`python -m benchmarks muka`",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_each_text_speaks_of(repository: Path) -> None:
    every = ["muka/table1-paper.json", "muka/table1.json", "muka/table12.json"]
    assert {text: list(files) for text, files in checked.now().items()} == {
        "benchmarks/alloy/summary.md": ["alloy/outside.json"],
        "benchmarks/muka/notes/summary.md": every,
        "benchmarks/muka/notes/table1.md": every[:2],
        "docs/guide/all.md": every,
        "docs/guide/page.md": ["alloy/outside.json"],
    }


def test_a_text_is_named_until_it_was_checked_again(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*texts: str) -> str:
        monkeypatch.setattr("sys.argv", ["checked", *texts])
        checked.main()
        return capsys.readouterr().out

    texts = ["docs/guide/page.md", "docs/guide/all.md", "benchmarks/muka/notes/table1.md"]
    assert "docs/guide/page.md" in run()
    assert [line.split(":")[0] for line in run(*texts).splitlines()] == [
        "benchmarks/alloy/summary.md", "benchmarks/muka/notes/summary.md",
    ]  # fmt: skip
    assert run("benchmarks/alloy/summary.md", "benchmarks/muka/notes/summary.md").startswith("The figures of all texts")
    assert checked.unchecked() == []
    (repository / "results" / "muka" / "table12.json").write_text("2")  # changed
    (repository / "results" / "alloy" / "outside.json").unlink()  # gone
    (repository / "results" / "muka" / "table1-new.json").write_text("1")  # new
    assert [line.split(":")[0] for line in checked.unchecked()] == [
        "benchmarks/muka/notes/summary.md", "benchmarks/muka/notes/table1.md", "docs/guide/all.md",
    ]  # fmt: skip
    assert "muka/table1-new.json, muka/table12.json. Compare" in checked.unchecked()[0]
    with pytest.raises(SystemExit):
        run("docs/guide/other.md")
    assert "benchmarks/muka/notes/full.md; got docs/guide/other.md" in capsys.readouterr().err
