"""An id is found in the row that has it, however many parts and blocks the table is cut into."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.temporary import buckets, row_index, scattered
from alloykit.temporary.buckets import Buckets, buckets_for
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.row_index import RowIndex, id_blocks
from alloykit.temporary.scattered import range_size
from alloykit.temporary.scattered import scattered as put_in_order


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Blocks of four rows, and at most eight buckets."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (buckets, row_index, scattered):
            patch.setattr(module, "BLOCK", 4)
        for module in (buckets, scattered):
            patch.setattr(module, "MAX_BUCKETS", 8)
        yield


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=40), st.data())
def test_each_id_is_found_in_its_first_row(known: list[bytes], data: st.DataObject) -> None:
    known += [k[:8] + bytes([k[8] ^ 255]) + k[9:] for k in known[::2]]  # some share their first half with another
    known += known[::3]
    near = [bytes([*k[:15], k[15] ^ 1]) for k in known]  # the same first half
    wanted = data.draw(st.lists(st.sampled_from([*known, *near, bytes(16)]), max_size=40))
    ids = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(-1, 16)
    cut = data.draw(st.integers(0, len(known)))
    index = RowIndex([ids[:cut], ids[cut:]], len(known))
    found = index.find(id_blocks([w.hex() for w in wanted], 4))
    assert found.between(0, len(wanted)).tolist() == [known.index(w) if w in known else -1 for w in wanted]
    assert index.distinct == len(set(known))


def test_ids_from_a_file_an_array_and_strings_are_the_same() -> None:
    ids, file = np.random.default_rng(0).integers(0, 256, (11, 16), np.uint8), RowFile("ids")
    file.append(ids)
    for given_ids in (file, ids, [row.tobytes().hex() for row in ids]):
        parts = list(id_blocks(given_ids, 4))
        assert [len(part) for part in parts] == [4, 4, 3]
        np.testing.assert_array_equal(np.concatenate(parts), ids)


def test_a_bucket_has_its_rows_in_the_order_in_which_they_came() -> None:
    draw = np.random.default_rng(0)
    chosen, rows = draw.integers(0, 5, 50), draw.normal(size=(50, 2))
    parts = Buckets("numbers", 6)
    for part in (slice(3), slice(3, 3), slice(3, 30), slice(30, 50)):
        parts.add(chosen[part], rows[part])
    for bucket in range(5):
        np.testing.assert_array_equal(parts.read(bucket), rows[chosen == bucket])
    assert not list(parts.pieces(5))


def test_memory_holds_less_than_two_blocks_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    parts = Buckets("numbers", 2)
    [file] = tmp_path.iterdir()
    for n in range(1, 12):
        parts.add(np.array([n % 2]), np.array([n]))
        assert file.stat().st_size == 8 * (n // 4 * 4)


def test_a_bucket_has_a_block_of_rows_or_fewer() -> None:
    """Of the same size each, as far as the number of buckets allows it."""
    assert [buckets_for(n) for n in (0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 999)] == [1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8]
    assert [range_size(n) for n in (0, 4, 31, 32, 33, 41)] == [4, 4, 4, 4, 5, 6]


@pytest.mark.parametrize("n", [0, 1, 4, 33])
def test_numbers_come_back_in_the_order_of_their_places(n: int) -> None:
    order = np.random.default_rng(n).permutation(n)
    found = put_in_order("numbers", n, ((part, part * 10) for part in np.array_split(order, 3)))
    assert found.between(0, n).tolist() == [10 * place for place in range(n)]
    assert len(found) == n
    assert found.read(np.arange(n)).dtype == np.int64
    assert found.read(np.arange(n)).shape == (n,)
