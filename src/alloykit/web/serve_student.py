"""Load a student and serve it over HTTP until a signal comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.finished_runs.explain_text import TextExplainer
from alloykit.finished_runs.load_student import load_student
from alloykit.progress import hushed, log_line
from alloykit.run_folder.run_folder import RunFolder, is_run_folder
from alloykit.teachers.trust import python_trusted
from alloykit.web.run_server import address_of, listen, run_server, warn_of_exposure
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_app import server_app


def serve_student(
    folder: Path,
    options: ServeOptions,
    *,
    onnx: bool,
    teachers: bool,
    cache: str | Path | None,
    device: str,
    trust_remote_code: bool,
    trust_python: bool,
    trust_url: bool,
    ready: Callable[[str], None],
) -> None:
    """Serve the student of a run folder, or the classifier of a model folder. The arguments are those of `commands/serve.py: serve`. AlloyError."""
    with listen(options) as place:  # first: a port in use shows before the models are loaded
        classifier = load_student(
            folder, onnx=onnx, device=device, trust_remote_code=trust_remote_code, threads=options.threads
        )
        if classifier.knows_unusual:
            _ = classifier.fitted_none_of_these  # a damaged file shows now, not in every request
        with python_trusted(trust_python):
            explainer, why = _explainer(
                folder, cache=cache, teachers=teachers, trust=trust_remote_code, trust_url=trust_url
            )
        warn_of_exposure(options)
        app = server_app(
            classifier, options, name=folder.resolve().name, explainer=explainer, why_no_teachers=why,
            begin=lambda: _use_threads(options.threads),
        )  # fmt: skip
        ready(address_of(place, options))  # a request that comes now waits a moment
        with hushed():
            run_server(app, place, options)
    log_line("stopped: every request that was accepted has its answer")


def _explainer(
    folder: Path, *, cache: str | Path | None, teachers: bool, trust: bool, trust_url: bool
) -> tuple[TextExplainer | None, str]:
    """What explains the targets, or None and the reason. AlloyError if `teachers` were asked for."""
    if not is_run_folder(folder):
        if teachers or cache is not None:
            raise AlloyError(
                expected=f"a run folder, for {'--teachers' if teachers else '--cache'}",
                got=f"the model folder '{str(folder)[:200]}'",
                hint="A model has no teachers.",
            )
        return None, "This is a model folder. Only a run folder knows its teachers."
    try:
        explainer = TextExplainer(
            RunFolder(folder), cache=cache, teachers=teachers, trust_remote_code=trust, trust_url=trust_url
        )
        return explainer, ""
    except AlloyError as error:
        if teachers:
            raise
        return None, f"The teachers' answers cannot be shown: {error}"


def _use_threads(number: int | None) -> None:
    if number is not None:
        import torch

        torch.set_num_threads(number)
