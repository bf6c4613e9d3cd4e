"""Serve a student over HTTP, with a page to try it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alloykit.errors import AlloyError
from alloykit.progress import hushed, log_line
from alloykit.run_folder.run_folder import RunFolder, classifier_folder, folder_of, is_run_folder, onnx_folder
from alloykit.teachers.trust import python_trusted

if TYPE_CHECKING:
    from alloykit.finished_runs.explain_text import TextExplainer
    from alloykit.serving.classifier import Classifier

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
    it answers. options: fields of `ServeOptions` (web/serve_options.py). AlloyError.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise AlloyError(
            expected="the packages of the extra `serve`",
            got=f"no {', '.join(missing)}",
            hint="Install them: `pip install 'alloykit[serve]'`.",
        )
    from alloykit.web.run_server import address_of, listen, run_server, warn_of_exposure
    from alloykit.web.serve_options import ServeOptions
    from alloykit.web.server_app import server_app

    chosen, folder = ServeOptions(**options), folder_of(run)
    place = listen(chosen)  # first: a port in use shows before the models are loaded
    with place:
        classifier = _classifier(folder, onnx=onnx, device=device, trust=trust_remote_code, threads=chosen.threads)
        with python_trusted(trust_python):
            explainer, why = _explainer(
                folder, cache=cache, teachers=teachers, trust=trust_remote_code, trust_url=trust_url
            )
        name = folder.resolve().name
        warn_of_exposure(chosen)
        threads = partial(_use_threads, chosen.threads)
        app = server_app(classifier, chosen, name=name, explainer=explainer, why_no_teachers=why, threads=threads)
        ready(address_of(place, chosen))  # a request that comes now waits a moment
        with hushed():
            run_server(app, place, chosen)
    log_line("stopped: every request that was accepted has its answer")


def _classifier(folder: Path, *, onnx: bool, device: str, trust: bool, threads: int | None) -> Classifier:
    """The student of a run folder, or the classifier of a model folder. AlloyError."""
    if onnx:
        from alloykit.serving.onnx_predictor import OnnxPredictor

        return OnnxPredictor.load(onnx_folder(folder), threads=threads)
    from alloykit.serving.predictor import Predictor

    return Predictor.load(classifier_folder(folder), device=device, trust_remote_code=trust)


def _explainer(
    folder: Path, *, cache: str | Path | None, teachers: bool, trust: bool, trust_url: bool
) -> tuple[TextExplainer | None, str]:
    """What explains the targets, or None and the reason. AlloyError if `teachers` were asked for."""
    if not is_run_folder(folder):
        if teachers:
            raise AlloyError(
                expected="a run folder, for --teachers",
                got=f"the model folder '{str(folder)[:200]}'",
                hint="A model has no teachers.",
            )
        return None, "This is a model folder. Only a run folder knows its teachers."
    from alloykit.finished_runs.explain_text import TextExplainer

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
