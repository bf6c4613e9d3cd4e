"""Check this machine for `alloykit doctor`: versions, devices, number formats, the hub, free space, extras."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

import torch

from alloykit.models.device import pick_device
from alloykit.models.location import SECONDS, quiet_hub
from alloykit.planning.finding import Finding
from alloykit.precision import native_bfloat16
from alloykit.run_folder.run_folder import environment

SIZE, ROUNDS = 512, 10  # the width of two matrices, and how often their product is timed
SCARCE = 1e9  # bytes of free space below which a note is given
GIVES = {
    "demo": "the encoder bundled:minilm, and `alloykit demo`",
    "sentencepiece": "models whose tokenizer is a SentencePiece file",
    "skops": "teachers in files that skops wrote",
    "service": "teachers that are services (`url:`)",
    "s3": "outputs in S3: `--cache s3://…`",
    "gguf": "language models in GGUF files, for `generation:`",
    "ray": "`engine: ray`",
    "tracking": "`report_to: [tensorboard]`",
    "onnx": "`export --onnx`, `predict --onnx` and `serve --onnx`; ONNX classifiers as teachers",
    "serve": "`alloykit serve`",
    "docs": "`make docs`",
    "dev": "the tests",
}
# A line of the package's requirements that belongs to an extra.
_EXTRA = re.compile(r"(?P<package>[\w.-]+).*extra == ['\"](?P<extra>[\w-]+)['\"]")
TRACKERS = ("tensorboard", "trackio", "mlflow", "wandb")


def examine_machine(places: Mapping[str, Path], wanted_bytes: float = SCARCE) -> list[Finding]:
    """Checks of this machine. places: folders that will be written to, by name. wanted_bytes: space that each of them needs."""
    checks = [_versions(), _device(), _threads(), _formats(), _hub()]
    checks += [_space(name, folder, wanted_bytes) for name, folder in places.items()]
    checks.append(_space("temporary files", Path(tempfile.gettempdir()), SCARCE, "Set TMPDIR to a larger disk."))
    return [*checks, *_extras(), _trackers()]


def _versions() -> Finding:
    about = environment()
    packages = ", ".join(f"{name} {about['packages'][name]}" for name in ("alloykit", "torch", "transformers"))
    return Finding("versions", f"Python {about['python']}, {packages}")


def _device() -> Finding:
    device = pick_device("auto")
    if device == "cuda":
        free, total = torch.cuda.mem_get_info()
        return Finding(
            "device",
            f"cuda: {torch.cuda.get_device_name(0)}, {free / 1e9:.0f} of {total / 1e9:.0f} GB free",
        )
    return Finding("device", "mps: Apple's Metal" if device == "mps" else "cpu; there is no GPU that torch can use")


def _threads() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = torch.get_num_threads()
    found = f"torch uses {threads} of {cores} cores"
    if threads < cores // 2:  # torch leaves the second threads of a core unused
        return Finding(
            "threads", found, "note", "More threads are faster on a CPU: unset OMP_NUM_THREADS, or set it higher."
        )
    if threads > cores:
        return Finding(
            "threads", found, "note", f"More threads than cores make a run slow: set OMP_NUM_THREADS={cores}."
        )
    return Finding("threads", found)


def _formats() -> Finding:
    """bfloat16 against float32 on the CPU, measured. Other work on the machine can change the ratio, so a run does not depend on it."""
    times: dict[torch.dtype, list[float]] = {torch.float32: [], torch.bfloat16: []}
    for _ in range(ROUNDS):  # in turns, so that other work on the machine slows both equally
        for dtype, found in times.items():
            found.append(_product_seconds(dtype))
    ratio = min(times[torch.float32]) / min(times[torch.bfloat16])
    native = native_bfloat16("cpu")
    text = f"bfloat16 is {ratio:.2g} times as fast as float32 on this CPU (a product of matrices)"
    text += ", and is used" if native else "; the CPU has no instructions for it, so float32 is used"
    if native and ratio < 1:
        hint = "If a second `alloykit doctor` shows the same, set `precision: float32` in `training:` and `inference:`."
        return Finding("number formats", text, "note", hint)
    return Finding("number formats", text)


def _product_seconds(dtype: torch.dtype) -> float:
    matrix = torch.ones(SIZE, SIZE, dtype=dtype)
    begun = time.perf_counter()
    torch.mm(matrix, matrix)
    return time.perf_counter() - begun


def _hub() -> Finding:
    """Whether the hub answers within five seconds."""
    from huggingface_hub import constants, get_token
    from huggingface_hub.utils import get_session  # type: ignore[attr-defined]

    if constants.HF_HUB_OFFLINE:
        hint = "alloykit uses models that were downloaded before. Unset HF_HUB_OFFLINE to use the hub."
        return Finding("hub", "not asked (HF_HUB_OFFLINE)", "note", hint)
    answer: list[str] = []

    def ask() -> None:
        try:
            answer.append(str(get_session().head(constants.ENDPOINT, timeout=SECONDS).status_code))
        except Exception as error:  # of the HTTP client, of the network
            answer.append(type(error).__name__)

    with quiet_hub():
        thread = threading.Thread(target=ask, daemon=True)  # names may take longer to resolve than any timeout
        thread.start()
        thread.join(SECONDS)
    got = answer[0] if answer else "no answer"
    if not got.isdigit() or int(got) >= 500:
        hint = "Only models and data sets of the hub need it. Check your network, HTTPS_PROXY and HF_ENDPOINT."
        return Finding("hub", f"cannot be reached ({got})", "note", hint)
    try:
        token = get_token() is not None
    except Exception:  # a token that could not be renewed
        token = False
    return Finding(
        "hub", f"can be reached; {'a token is set' if token else 'no token is set (private models need one)'}"
    )


def _space(name: str, folder: Path, wanted: float, hint: str = "Free some space, or choose another disk.") -> Finding:
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding(name, f"'{there}' cannot be written to", "error", "Choose another folder, or change its rights.")
    free = shutil.disk_usage(there).free
    found = f"{free / 1e9:,.1f} GB free at '{there}'"
    if free < wanted:
        return Finding(name, f"{found}; about {wanted / 1e9:,.1f} GB are needed", "note", hint)
    return Finding(name, found)


def _extras() -> Iterator[Finding]:
    """The extras of the package, whether they are installed, and what they give."""
    try:
        listed = [_EXTRA.match(line) for line in requires("alloykit") or []]
    except PackageNotFoundError:
        listed = []
    for extra, gives in GIVES.items():
        packages = [found["package"] for found in listed if found is not None and found["extra"] == extra]
        missing = [package for package in packages if not _installed(package)]
        state = f"not installed ({', '.join(missing)})" if missing else "installed"
        hint = f"If you need it: pip install 'alloykit[{extra}]'" if missing else ""
        if packages:
            yield Finding(f"extra {extra}", f"{state}: {gives}", hint=hint)


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _trackers() -> Finding:
    there = [name for name in TRACKERS if find_spec(name) is not None]
    return Finding("trackers", f"{', '.join(there) or 'none'} (for `report_to:` in `training:`)")
