"""Serve a student over HTTP, with a page to try it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.progress import log_line
from alloykit.run_folder.run_folder import RunFolder, folder_of

NEEDED = ("fastapi", "uvicorn", "prometheus_client")


def serve(
    run: str | Path | RunFolder,
    *,
    onnx: bool = False,
    teachers: bool = False,
    cache: str | Path | None = None,
    device: str = "auto",
    trust_remote_code: bool = False,
    trust_python: bool = False,
    trust_url: bool = False,
    ready: Callable[[str], None] = lambda address: log_line(f"serving at {address} (Ctrl-C stops it)"),
    **options: Any,
) -> None:
    """Serve a student until the process gets SIGINT or SIGTERM. The same as `alloykit serve`, from Python.

    run: a run, its folder, or a model folder. onnx: use the ONNX file that `alloykit export RUN --onnx` made. teachers: keep the run's
    teachers in memory, so that the page can ask them too. cache: where the teachers' outputs are kept, if not in the run folder. device:
    auto, cpu, cuda or mps. trust_remote_code: run code that comes with the models. trust_python: import the functions that the
    run's recipe names as teachers. trust_url: send texts and keys to the services that it names. ready: called with the server's address when
    it answers. options: fields of `ServeOptions` (web/serve_options.py). AlloyError if there is no student, without the extra
    `serve`, for invalid options, and for an address that is in use. TypeError for an option that does not exist.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise AlloyError(
            expected="the packages of the extra `serve`",
            got=f"no {', '.join(missing)}",
            hint="Install them: `pip install 'alloykit[serve]'`.",
        )
    from alloykit.web.serve_options import ServeOptions
    from alloykit.web.serve_student import serve_student

    serve_student(
        folder_of(run), ServeOptions(**options), onnx=onnx, teachers=teachers, cache=cache, device=device,
        trust_remote_code=trust_remote_code, trust_python=trust_python, trust_url=trust_url, ready=ready,
    )  # fmt: skip
