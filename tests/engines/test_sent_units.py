"""Workers that do not see the driver's store send their units. The engine here pickles all that a cluster would send."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
from knowing import arrays, info, swept

from alloykit.engines.jobs import Job, Worker
from alloykit.engines.sweep_jobs import SweepBy
from alloykit.errors import AlloyError

pytestmark = pytest.mark.slow

TEXTS = tiny.texts(40)


class Elsewhere:
    """A worker on another machine, where another file is at the store's place."""

    def run(self, jobs: Sequence[Job], worker: Callable[[], Worker], what: str, unit: str) -> Iterator[tuple[int, Any]]:
        do = replace(worker, sighting=(0, 0, 0))()  # type: ignore[type-var]
        assert do.sends
        for n, job in enumerate(jobs):
            yield n, pickle.loads(pickle.dumps(do(pickle.loads(pickle.dumps(job)))))


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_sent_units_have_the_bits_and_files_of_one_process(models: dict[str, Path], tmp_path: Path) -> None:
    infos = [info(models["billing"]), info(models["delivery"])]
    alone, sent = tmp_path / "alone", tmp_path / "sent"
    swept(alone, infos, TEXTS, passes=0)
    swept(alone, infos, TEXTS)
    swept(sent, infos, TEXTS, engine=SweepBy(Elsewhere()), passes=0)
    swept(sent, infos, TEXTS, engine=SweepBy(Elsewhere()))  # passes, which are compared with the stored logits
    assert arrays(sent) == arrays(alone)
    assert _names(sent) == _names(alone)
    receipts = [path.read_text() for path in sent.rglob("teachers/*/*/*.json")]
    assert all("seconds" in text for text in receipts if '"sha256"' in text)


def test_units_of_another_teacher_are_refused(models: dict[str, Path], tmp_path: Path) -> None:
    swept(tmp_path, [info(models["billing"], "one")], TEXTS[:20])
    with pytest.raises(AlloyError, match="weights"):
        swept(tmp_path, [info(models["delivery"], "one")], TEXTS, engine=SweepBy(Elsewhere()))
