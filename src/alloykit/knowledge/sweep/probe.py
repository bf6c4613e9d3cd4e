"""Notice that a teacher that cannot be hashed, a function or a service, is another one than before."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from alloykit.errors import AlloyError
from alloykit.knowledge.store.store import OTHER_TEACHER, Store
from alloykit.teachers.probe_texts import PROBE_TEXTS
from alloykit.teachers.protocol import Answerer, TeacherInfo


def check_probe(store: Store, teacher: Answerer) -> None:
    """Compare the teacher's answers to the probe texts with those in the store; record them if it has no outputs yet.

    AlloyError if a probability differs by more than the teacher's `tolerance`. Each teacher is asked once per store and process.
    """
    info = teacher.info
    if info.name in store.probed:
        return
    answers = torch.softmax(teacher.probe(PROBE_TEXTS).logits, -1)
    compare_probe(store, info, [None if bool(row.isnan().any()) else row.tolist() for row in answers])


def compare_probe(store: Store, info: TeacherInfo, now: list[list[float] | None]) -> None:
    """`check_probe` for answers that were given already: by text the probabilities, None for no answer. AlloyError."""
    before = store.identity(info.name, "probe") if store.units(f"teachers/{info.name}") else None
    if before is None:
        store.record_note(info.name, "probe", {"answers": now})
    elif changed := _changed(before["answers"], now, info.tolerance):
        raise AlloyError(
            expected=f"teacher '{info.name}' to answer as it did when its outputs in {store.storage.url} were made",
            got=f"other answers to {changed} of {len(now)} fixed texts",
            hint=OTHER_TEACHER,
        )
    store.probed.add(info.name)


def _changed(before: Sequence[list[float] | None], now: Sequence[list[float] | None], tolerance: float) -> int:
    """How many answers differ. A damaged record may have fewer."""
    return abs(len(before) - len(now)) + sum(_differs(a, b, tolerance) for a, b in zip(before, now, strict=False))


def _differs(a: list[float] | None, b: list[float] | None, tolerance: float) -> bool:
    if a is None or b is None:
        return a is not b
    return len(a) != len(b) or any(abs(x - y) > tolerance for x, y in zip(a, b, strict=True))
