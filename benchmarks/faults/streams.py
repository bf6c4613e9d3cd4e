"""Output that nobody reads, closed and full streams, and odd arguments; a few of them as processes started the ordinary way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.faults.cases import Case, judge
from benchmarks.faults.kinds import Kind
from benchmarks.faults.steps import Outcome, step
from benchmarks.faults.worker import SETTINGS

LONG = "x" * 5000
ODD = [
    "", " ", ".", "..", "/", "~", "~nobody", "-", "--", "nowhere", "nowhere/", "a\nb", "\x1b[31mred", "\udcff.yaml", "recipe.yaml/x", LONG, "/dev/null",
    "/dev/full", "/dev/zero", "/proc/self/mem", "recipe.yaml", "texts.csv", "billing", "run", "https://127.0.0.1:9/x", "s3://x/y", "file:///etc", "[x]",
    "link", "0", "-1", "1/0", "\u202e", "encoder/config.json", "memory://x", "hf://x/y/z",
]  # fmt: skip
COMMANDS: list[list[str]] = [
    ["amalgamate", "?"], ["distill", "?"], ["teach", "?"], ["generate", "?"], ["sweep", "?"], ["plan", "?", "--no-probe"], ["evaluate", "?"],
    ["report", "?"], ["report", "run", "?"], ["predict", "?", "texts.csv"], ["predict", "run", "?"], ["predict", "run", "texts.csv", "--output", "?"],
    ["predict", "run", "texts.csv", "--text", "?"], ["predict", "run", "texts.csv", "--text-pair", "?"], ["evaluate", "run", "--data", "?"],
    ["evaluate", "run", "--cache", "?"], ["evaluate", "billing", "--data", "test.csv", "--label", "?"], ["report", "run", "--output", "?"],
    ["report", "run", "run", "--output", "?"], ["sweep", "recipe.yaml", "--part", "?"], ["sweep", "recipe.yaml", "--cache", "?"],
    ["amalgamate", "recipe.yaml", "--cache", "?"], ["methods", "?"], ["?"], ["predict", "run", "texts.csv", "?"], ["demo", "--output", "?"],
]  # fmt: skip
LOUD: list[list[str]] = [
    ["predict", "run", "many.txt"], ["predict", "run", "many.txt", "--all-probabilities"], ["methods"], ["methods", "alloy"], ["methods", "--json"], ["--help"],
    ["plan", "recipe.yaml", "--no-probe"], ["plan", "recipe.yaml", "--no-probe", "--json"], ["evaluate", "run"], ["evaluate", "run", "--json"],
    ["report", "run"], ["amalgamate", "recipe.yaml"], ["predict", "run", "many.txt", "--output", "/dev/full"], ["nothing"], ["predict", "nowhere"],
    ["predict", "run", "many.txt", "--output", "."], ["predict", "run", "many.txt", "--output", "billing"], ["predict", "run", "many.txt", "--output", "link"],
    ["predict", "run", "many.txt", "--output", "nowhere/x.jsonl"], ["sweep", "recipe.yaml"],
]  # fmt: skip
REAL = 12  # cases that start an interpreter of their own, which takes seconds


DEVICES = ("/dev/null", "/dev/full", "/dev/zero")


def make(case: Case) -> None:
    _make(case)
    for place in DEVICES:
        case.demand(Path(place).is_char_device(), "lost", f"{place} is no device any more")


def _make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    case.stock.fill(folder, "alloy")
    os.symlink(case.stock.reference("alloy").folder, folder / "made")
    os.symlink("no/such/place", folder / "link")
    subprocess.run(["cp", "-rL", "made", "run"], cwd=folder, check=True)
    (folder / "many.txt").write_text("".join(f"where is my parcel number {n}\n" for n in range(2000)))
    if case.seed < REAL:
        _real(case)
        return
    if draw.random() < 0.5:
        argv, streams = draw.choice(LOUD), {"out": draw.choice(("full", "closed", "unread", "head", "head", "file"))}
        if draw.random() < 0.25:
            streams["error"] = draw.choice(("full", "closed", "unread"))
        case.about = f"{' '.join(argv)}, output {streams['out']}, errors {streams.get('error', 'file')}"
        case.run(step(folder, *argv, **streams))
        if argv[:3] == ["predict", "run", "many.txt"] and streams["out"] == "full" and "--output" not in argv:
            case.demand(case.outcomes[0].code == 2, "lost", "nothing could be written, and the code was not 2")
        return
    odd = draw.choice(ODD)
    argv = [odd if word == "?" else word for word in draw.choice(COMMANDS)]
    if argv[0] == "demo" and odd in (
        "",
        "-",
        "run",
        " ",
        "nowhere",
        "nowhere/",
        "-1",
        "0",
        "[x]",
        "\u202e",
        "a\nb",
        "\x1b[31mred",
        "\udcff.yaml",
        "1/0",
        "--",
    ):
        argv = ["demo", "--output", "recipe.yaml"]  # the others would be valid folders, and the demo a run of a minute
    case.about = ascii(" ".join(argv))[:200]
    case.run(step(folder, *argv), network=True)
    case.demand(Path("/etc/passwd").stat().st_size > 0, "lost", "a file outside the case")


def _real(case: Case) -> None:
    """The same through a shell, with an interpreter of its own."""
    lines = [
        "predict run many.txt | head -1", "predict run many.txt > /dev/full", "predict run many.txt >&-", "predict run many.txt 2>&- >&-",
        "predict run - < /dev/full", "predict run - <&-", "cat many.txt | ALLOY predict run - | head -1", "methods | head -1", "methods > /dev/full",
        "plan recipe.yaml --no-probe | head -1", "predict run <(cat many.txt) | tail -1", "nothing 2> /dev/full",
    ]  # fmt: skip
    line = lines[case.seed]
    case.about = f"a shell: {line}"
    command = f"{sys.executable} -m alloykit"
    text = line.replace("ALLOY", command) if "ALLOY" in line else f"{command} {line}"
    environment: dict[str, Any] = {**os.environ, **SETTINGS, "HF_HUB_OFFLINE": "1"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
    whole = f"set -o pipefail; {text}"
    done = subprocess.run(
        ["bash", "-c", whole], capture_output=True, cwd=case.folder, env=environment, timeout=300, check=False
    )
    outcome = Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(), 0.0, 0.0)
    case.outcomes.append(outcome)
    case.faults += judge(outcome, told="2>" not in line)
    if "/dev/full" in line and ">" in line:
        case.demand(outcome.code == 2, "lost", f"nothing could be written, and the code was {outcome.code}")


TABLE = Kind("streams", "Closed, full and unread output, and odd arguments", 200, make)
