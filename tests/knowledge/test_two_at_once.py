"""Two sweeps that fill one store at the same time lose no row, and no row gets another text's answer."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from knowing import OPTIONS, SENTENCES, arrays, direct, read, recorded, shard, swept, table
from some_quick import some_quick

from alloykit.errors import AlloyError
from alloykit.knowledge.store.storage import Storage
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.units import logits_unit, name_in_folder, passes_unit
from alloykit.knowledge.sweep import pending as work
from alloykit.knowledge.sweep.pending import shards_for
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.teachers.hugging_face import HuggingFaceInfo


def fill(teacher: HuggingFaceInfo, store: Path, texts: slice, begin: Any) -> None:
    torch.set_num_threads(1)
    begin.wait(60)
    swept(store, [teacher], SENTENCES[texts], shard_rows=8)


def at_once(teacher: HuggingFaceInfo, store: Path, parts: list[slice]) -> None:
    """A process for each part of the texts; all begin at the same time."""
    processes = multiprocessing.get_context("fork")  # a new interpreter would import torch first, for seconds
    begin = processes.Barrier(len(parts))
    ran = [processes.Process(target=fill, args=(teacher, store, part, begin)) for part in parts]
    for process in ran:
        process.start()
    for process in ran:
        process.join(120)
    assert [process.exitcode for process in ran] == [0] * len(ran)


def whole(store: Store, models: dict[str, Path], texts: list[str]) -> None:
    rows = read(store, ["billing"], texts, passes=4).rows(range(len(texts)))
    torch.testing.assert_close(rows.teachers[0].logits, direct(models["billing"], texts), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts", [(slice(20), slice(20, 40)), (slice(25), slice(10, 40))], ids=["distinct", "overlapping"]
)
def test_two_processes(parts: Any, billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path) -> None:
    at_once(billing, tmp_path / "k", list(parts))
    whole(Store(tmp_path / "k"), models, SENTENCES)


class Interrupted:
    """Lets something happen right before the n-th time that a function is called."""

    def __init__(self, function: Any, n: int, happens: Any) -> None:
        self.function, self.left, self.happens = function, n, happens

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            self.happens()
        return self.function(*args, **kwargs)


@pytest.mark.parametrize("n", some_quick([1, 2, 3, 4, 5, 6, 7, 9, 12, 16], 1, 4, 9))
def test_another_sweep_at_any_moment(
    n: int, billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two writes of one sweep, another one with overlapping texts runs from its beginning to its end."""
    mine, theirs = SENTENCES[:14], SENTENCES[6:24]

    def other() -> None:
        swept(tmp_path / "k", [billing], theirs, shard_rows=8, passes=0)

    write = Interrupted(Storage.write, n, other)
    monkeypatch.setattr(Storage, "write", lambda *args: write(*args))
    store = swept(tmp_path / "k", [billing], mine, shard_rows=8, passes=4)
    if write.left > 0:
        other()
    whole(store, models, mine)
    logits = read(store, ["billing"], theirs).rows(range(len(theirs))).teachers[0].logits
    torch.testing.assert_close(logits, direct(models["billing"], theirs), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_the_same_texts_in_two_processes(billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path) -> None:
    """Equal shards are one file. A process that looks while the other one adds may add a text once more, in a shard of another name."""
    at_once(billing, tmp_path / "k", [slice(20), slice(20)])
    swept(tmp_path / "single", [billing], SENTENCES[:20], shard_rows=8)
    both, single = arrays(tmp_path / "k"), arrays(tmp_path / "single")
    assert len(both) <= 2 * len(single)
    assert {name: both[name] for name in both.keys() & single.keys()}.items() <= single.items()
    whole(Store(tmp_path / "k"), models, SENTENCES[:20])


def test_passes_depend_on_the_texts_of_a_shard_and_not_on_what_was_there_before(
    billing: HuggingFaceInfo, tmp_path: Path
) -> None:
    swept(tmp_path / "a", [billing], SENTENCES[:16])
    swept(tmp_path / "b", [billing], SENTENCES[16:])
    store = swept(tmp_path / "b", [billing], SENTENCES[:16])
    last = list(store.shards())[-1]
    one, two = (
        s.load(passes_unit("billing", name, 0))
        for s, name in ((Store(tmp_path / "a"), shard(tmp_path / "a", 0)), (store, last))
    )
    assert last.startswith("00002-")
    assert torch.equal(one["per_pass"], two["per_pass"])


def test_a_text_without_a_row_is_an_error(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something removes what was added: the sweep must not go on as if it were done."""
    monkeypatch.setattr(Store, "add", lambda self, ids: [])
    with pytest.raises(AlloyError, match=r"a row in .* for every text; got none for 20 of 20 texts"):
        swept(tmp_path, [billing], SENTENCES[:20])


def test_no_row_is_filled_whose_text_is_not_at_hand(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    store = Store(tmp_path, shard_rows=8)
    store.add(table(SENTENCES[:16]).ids())  # another process has begun
    for texts in (SENTENCES[:8], SENTENCES[4:12], SENTENCES[10:20]):
        chosen = shards_for(store, table(texts).ids(), ["billing"], OPTIONS)
        assert all((at >= 0).all() for at in chosen.values())
    sweep([billing], table(SENTENCES[10:20]), store, OPTIONS)
    assert {
        s
        for s in store.shards()
        if name_in_folder(work.units_of("billing", s, OPTIONS)[0]) in store.units("teachers/billing")
    } == set(shards_for(store, table(SENTENCES[10:20]).ids(), ["billing"], OPTIONS))


def test_one_unit_written_by_two_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other numbers of threads the bits differ. Whoever writes last, receipt and file belong together."""
    for n in range(1, 5):
        stores = [Store(tmp_path / str(n)) for _ in range(2)]
        recorded(stores[0], "t", 2)
        unit = logits_unit("t", "00000-abc")
        write = Storage.write
        between = Interrupted(write, n, lambda s=stores[1], u=unit: s.save(u, {"logits": torch.ones(3, 2)}))
        with monkeypatch.context() as patch:
            patch.setattr(Storage, "write", lambda *args, w=between: w(*args))
            stores[0].save(unit, {"logits": torch.zeros(3, 2)})
        assert stores[1].answers(unit, 3)["logits"].unique().numel() == 1


def test_answers_of_two_teachers_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    """Both begin in an empty store; the second one's record replaces the first one's."""
    one, two = Store(tmp_path), Store(tmp_path)
    recorded(one, "t", 2)
    made = one.identity("t", "teacher")
    assert made is not None
    two.identify("t", "teacher", made | {"weights": 64 * "c"})
    one.save(logits_unit("t", "00000-abc"), {"logits": torch.zeros(3, 2)})
    two.save(logits_unit("t", "00001-abc"), {"logits": torch.zeros(3, 2)})
    assert two.answers(logits_unit("t", "00001-abc"), 3)
    with pytest.raises(AlloyError, match=r"00000-abc.logits.*another teacher.*one name"):
        two.answers(logits_unit("t", "00000-abc"), 3)


def test_many_threads_add_texts_to_a_store_in_memory() -> None:
    """A store behind fsspec, which has no exclusive files: names that differ need none."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.rm("/two-at-once", recursive=True) if memory.exists("/two-at-once") else None
    parts = [table(SENTENCES[i : i + 10]).ids() for i in range(0, 40, 5)]
    Store("memory://two-at-once", shard_rows=4)
    threads = [threading.Thread(target=lambda p=p: Store("memory://two-at-once").add(p)) for p in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {bytes(row) for rows in Store("memory://two-at-once").shards().values() for row in rows}
    assert found == {bytes(row) for row in table(SENTENCES).ids().between(0, 40)}
