"""A process that sweeps or trains keeps few compiled matrix products."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tiny
from small_training import run

from alloykit.data import load_texts
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.request import SweepOptions
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.models.primitive_cache import CAPACITY, VARIABLES, limit_primitive_cache
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info


@pytest.fixture(autouse=True)
def without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "1")  # so that it is put back afterwards
        monkeypatch.delenv(name)


def test_the_limit_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DNNL_PRIMITIVE_CACHE_CAPACITY", "1024")
    limit_primitive_cache()
    assert "ONEDNN_PRIMITIVE_CACHE_CAPACITY" not in os.environ


def test_training_sets_a_limit(models: dict[str, Path], tmp_path: Path) -> None:
    run({"name": "vanilla_kd"}, models["encoder"], tmp_path, epochs=1)
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == str(CAPACITY)


def test_a_sweep_sets_a_limit(models: dict[str, Path], tmp_path: Path) -> None:
    teacher = read_teacher_info(HuggingFaceSpec(model=str(models["billing"])), "billing")
    sweep([teacher], load_texts(tiny.texts(4)), Store(tmp_path), SweepOptions(max_length=32))
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == str(CAPACITY)
