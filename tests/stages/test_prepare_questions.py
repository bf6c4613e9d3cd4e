"""What is said of a problem with one of several questions."""

from __future__ import annotations

import pytest

from alloykit.data import load_texts
from alloykit.errors import AlloyError
from alloykit.stages.prepare_questions import of_question


def test_a_missing_column_of_labels_names_the_key_of_the_question() -> None:
    words = "a column 'topic', in question 'topic'.*Call the column of the labels 'topic'.*`questions: {topic: {column: Topic2}}`"
    with pytest.raises(AlloyError, match=words) as refused, of_question("topic"):
        load_texts([{"text": "a", "Topic2": "x"}], label="topic")
    assert "label:" not in refused.value.hint
    with (
        pytest.raises(AlloyError, match="a column 'body', in question 'topic'.*Set `text: Topic2`"),
        of_question("topic"),
    ):
        load_texts([{"Topic2": "x"}], text="body")
