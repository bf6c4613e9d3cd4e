"""The helpers of tests/knowledge, an S3 server, and a Ray cluster on this machine, which all tests of this folder share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "knowledge"))

import fsspec
import pytest

from benchmarks.scale.s3_server import S3Server

HERE = Path(__file__).parent
CLUSTER = {
    "HF_HUB_OFFLINE": "1",
    "RAY_prestart_worker_first_driver": "0",  # workers that nobody may need
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_USAGE_STATS_ENABLED": "0",
}


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server with the bucket `outputs`. This process and the cluster's workers reach it at `s3://outputs`."""
    pytest.importorskip("moto")
    server = S3Server("outputs")
    fsspec.config.conf["s3"] = server.options
    yield server
    fsspec.config.conf.pop("s3")
    server.stop()


@pytest.fixture
def cluster(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster. The first test that needs it starts it; it ends with the last test of this folder."""
    ray = pytest.importorskip("ray")
    if ray.is_initialized():
        return
    paths = os.pathsep.join(path for path in sys.path if path)
    for name, value in {**CLUSTER, **s3.environment, "PYTHONPATH": paths}.items():
        monkeypatch.setenv(name, value)
    ray.init(
        address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error",
        object_store_memory=100 * 2**20,
    )  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the cluster, so that no later test shares the machine with it."""
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized() and (nextitem is None or HERE not in nextitem.path.parents):
        ray.shutdown()
