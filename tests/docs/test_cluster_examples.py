"""The examples for clusters in docs/guide/scale.md parse, and what they set exists."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import Any

import typer
import yaml
from pages import ROOT, snippets

from alloykit.cli.main import app
from alloykit.recipe.overrides import override
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe

PAGE = ROOT / "docs" / "guide" / "scale.md"
RECIPE = {"teachers": ["a"], "texts": "b.csv", "student": {"model": "bundled:minilm"}, "output": "runs/x"}
TORCHRUN = {"--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint", "-m"}


def _check_command(words: list[str]) -> None:
    """The options of a command of alloykit, and the values that it sets in a recipe."""
    command: Any = typer.main.get_command(app).commands[words[1]]  # type: ignore[attr-defined]
    names = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    assert {word for word in words[2:] if word.startswith("-")} <= names
    changes = [words[n + 1] for n, word in enumerate(words) if word == "-o"]
    if "--engine" in words:
        changes.append(f"engine.name={words[words.index('--engine') + 1]}")
    parse(override(RECIPE, changes), Recipe)


def test_a_rayjob_of_kuberay() -> None:
    (snippet,) = snippets("yml", pages=[PAGE])
    job = yaml.safe_load(snippet.text)
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert set(job["spec"]) == {"entrypoint", "shutdownAfterJobFinishes", "rayClusterSpec"}
    cluster = job["spec"]["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    assert set(workers) == {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
    for group in (cluster["headGroupSpec"], workers):
        spec = group["template"]["spec"]
        (container,) = spec["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
    entry = shlex.split(job["spec"]["entrypoint"])
    _check_command(entry)
    assert f"engine.workers={workers['maxReplicas']}" in entry
    assert (
        f"engine.gpus_per_worker={workers['template']['spec']['containers'][0]['resources']['limits']['nvidia.com/gpu']}"
        in entry
    )


def test_scripts_for_slurm_and_for_several_gpus() -> None:
    scripts = [snippet.text for snippet in snippets("bash", pages=[PAGE])]
    assert len(scripts) == 3
    for script in scripts:
        assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).returncode == 0
        whole = script.replace("\\\n", " ")
        for line in re.findall(r"alloykit (?:sweep|amalgamate) [^&\n]*", re.sub(r"\$\(\(.*?\)\)", "1", whole)):
            _check_command(shlex.split(line))
        for line in re.findall(r"torchrun (.*?) alloykit", whole):
            assert {word.split("=")[0] for word in shlex.split(line) if word.startswith("-")} <= TORCHRUN
