"""A real Ray cluster on this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from killed import Killed, jobs
from knowing import arrays, info, swept

from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import Job
from alloykit.engines.ray import RayEngine
from alloykit.engines.sweep_jobs import SweepBy
from alloykit.errors import AlloyError
from alloykit.finished_runs.predict_files import predict_files
from alloykit.knowledge.store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cluster")]
TEXTS = tiny.texts(60)
ONE, OPTIONS = EngineOptions(name="ray", workers=1), EngineOptions(name="ray", workers=2)


def test_a_worker_sweeps_the_bits_of_one_process(models: dict[str, Path], tmp_path: Path) -> None:
    infos = [info(models["billing"]), info(models["delivery"])]
    alone = swept(tmp_path / "alone", infos, TEXTS)
    by_ray = swept(tmp_path / "ray", infos, TEXTS, engine=SweepBy(RayEngine(ONE)))  # test_s3.py has two workers
    assert len(arrays(tmp_path / "alone")) == 4 + 2 * 4 * 2
    assert arrays(tmp_path / "ray") == arrays(tmp_path / "alone")
    assert by_ray.identity("billing", "sampling") == alone.identity("billing", "sampling")


def test_another_worker_does_the_jobs_of_a_killed_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # One worker: with two, the other one may finish all jobs before the loss is noticed.
    found = dict(RayEngine(ONE).run(jobs(), partial(Killed, tmp_path), "work", "jobs"))
    assert {n: result[0] for n, result in found.items()} == {n: n for n in range(12)}
    assert found[3][1] != int((tmp_path / "killed").read_text())
    assert "a worker was lost" in capsys.readouterr().err


def test_a_job_that_ends_every_worker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alloykit.engines.ray.LOST", 2)
    with pytest.raises(AlloyError, match=r"2 workers that ended at the same job"):
        list(RayEngine(OPTIONS).run(jobs()[3:4], partial(Killed, tmp_path, True), "work", "jobs"))


def test_ray_data_gives_the_answers_of_one_process(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alloykit.finished_runs.predict_files.ROWS", 16)
    folder = tmp_path / "texts"
    folder.mkdir()
    pq.write_table(pa.table({"text": [*tiny.texts(50), None]}), folder / "a.parquet", row_group_size=20)
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), folder / "b.parquet")
    (folder / "c.txt").write_text("\n".join(tiny.texts(20, seed=1)))
    alone = predict_files(models["billing"], folder, tmp_path / "alone", all_probabilities=True)
    (folder / "d.jsonl").write_text('{"body": "a file without texts comes after them"}\n')
    with pytest.raises(AlloyError, match="a column 'text' in .*d.jsonl"):
        predict_files(models["billing"], folder, tmp_path / "shared", all_probabilities=True, engine=ONE)
    found = [pq.read_table(tmp_path / "shared" / path.name) for path in alone]
    assert [table.num_rows for table in found] == [51, 0, 20]
    assert [table.equals(pq.read_table(path)) for table, path in zip(found, alone, strict=True)] == [True] * 3
    assert [table.schema.metadata == pq.read_schema(path).metadata for table, path in zip(found, alone, strict=True)]


def test_an_error_of_a_worker_is_that_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(AlloyError, match="expected a good job; got a bad one. Mend it."):
        list(RayEngine(OPTIONS).run([Job("a", "bad")], partial(Killed, tmp_path), "work", "jobs"))


def test_a_store_that_a_worker_does_not_see_is_named(tmp_path: Path) -> None:
    with pytest.raises(AlloyError, match="every machine that computes.*--cache"):
        Store.existing(tmp_path / "elsewhere")
