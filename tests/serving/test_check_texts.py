"""What Python may give as texts."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tiny
from commandline import Finished

import alloykit
from alloykit.errors import AlloyError
from alloykit.models.long_texts import encode_long
from alloykit.serving.check_texts import check_strings
from alloykit.serving.predictor import Predictor

FRAME = pd.DataFrame({"text": ["refund me", "where is my parcel"], "n": [1, 2]}, index=[7, 9])
DATA = datasets.Dataset.from_dict({"text": ["refund me"], "n": [1]})


@pytest.mark.parametrize("values", [{"text": ["a"]}, {0: "a"}, FRAME, FRAME[["text"]], DATA, DATA[:1], pa.table({"text": ["a"]})])  # fmt: skip
def test_what_has_columns_is_no_list_of_texts(values: Any) -> None:
    with pytest.raises(AlloyError, match=r'one column of a table; got a \w+. Name the column: `data\["text"\]`'):
        check_strings(values)


@pytest.mark.parametrize("values", [["a"], ("a",), np.array(["a"]), FRAME["text"], DATA["text"], []])
def test_lists_and_columns_are(values: Any) -> None:
    check_strings(values)


def test_columns_of_pandas_are_read_in_their_order(finished: Finished) -> None:
    run = alloykit.Run(finished.folder)
    expected = run.predict(list(FRAME["text"]), list(FRAME["text"]))
    assert run.predict(FRAME["text"], FRAME["text"]) == expected
    with pytest.raises(AlloyError, match="a second text, or None, for each of 2 texts; got 1"):
        run.predict(["a", ""], ["b"])


@pytest.mark.parametrize("long_texts", ["head", "tail"])
def test_pairs_may_be_a_column(finished: Finished, long_texts: Any) -> None:
    tokenizer = Predictor.load(finished.folder / "student").tokenizer
    pairs = tiny.texts(2)
    given = encode_long(tokenizer, pairs, pd.Series(pairs), 32, long_texts)  # type: ignore[arg-type]
    assert given == encode_long(tokenizer, pairs, pairs, 32, long_texts)
