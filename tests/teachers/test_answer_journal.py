"""Answers that cost money are on the disk, in files that nobody keeps open."""

from __future__ import annotations

from pathlib import Path

import pytest

from alloykit.teachers.answer_journal import AnswerJournal


def test_every_answer_is_written_and_its_file_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, plain = [], Path.open

    def noted(path: Path, *arguments: object, **more: object) -> object:
        opened.append(plain(path, *arguments, **more))  # type: ignore[call-overload]
        return opened[-1]

    monkeypatch.setattr(Path, "open", noted)
    journal = AnswerJournal(str(tmp_path), "0" * 64, "x", None, labels=2)
    for key in ("a", "b"):
        journal.spend()
        journal.record({key: [0.5, 0.5]})
    assert len(opened) > 0
    assert all(file.closed for file in opened)
    again = AnswerJournal(str(tmp_path), "0" * 64, "x", None, labels=2)
    assert again.requests == 2
    assert list(again["b"] or ()) == [0.5, 0.5]
