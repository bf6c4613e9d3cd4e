"""A run in Python: its files, and predictions of its student."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

from alloykit.data import TextsOptions, columns_beside
from alloykit.errors import AlloyError
from alloykit.finished_runs.evaluate_folder import evaluate_run_folder
from alloykit.finished_runs.report_run import report_run
from alloykit.run_folder.run_folder import RunFolder, folder_of
from alloykit.serving.check_texts import check_texts_and_pairs
from alloykit.serving.predictor import Predictor
from alloykit.serving.text_answers import AnswerKeys, text_answers
from alloykit.stages.from_arguments import Engine, Teachers


class Run(RunFolder):
    """A run folder: `Run("runs/tickets")`, or what `amalgamate` and `distill` return.

    folder: the run folder. student: the student's folder. metrics: measurements and warnings. AlloyError for a folder that is not a path.
    """

    def __init__(self, folder: str | Path | RunFolder) -> None:
        super().__init__(folder_of(folder))

    @overload
    def predict(  # type: ignore[overload-overlap]  # a string is also a sequence of strings; the first overload applies
        self,
        texts: str,
        pairs: str | None = None,
        *,
        all_probabilities: bool = False,
        none_of_these: bool = False,
        estimated_accuracy: bool = False,
        device: str = "auto",
        trust_remote_code: bool = False,
    ) -> dict[str, Any]: ...

    @overload
    def predict(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        *,
        all_probabilities: bool = False,
        none_of_these: bool = False,
        estimated_accuracy: bool = False,
        device: str = "auto",
        trust_remote_code: bool = False,
    ) -> list[dict[str, Any]]: ...

    def predict(
        self,
        texts: str | Sequence[str],
        pairs: str | Sequence[str | None] | None = None,
        *,
        all_probabilities: bool = False,
        none_of_these: bool = False,
        estimated_accuracy: bool = False,
        device: str = "auto",
        trust_remote_code: bool = False,
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """The student's label and its calibrated probability: a dictionary for one text, a list of them for a list. Of a student that answers
        several questions, `answers` has the same by question. A multi-label student gives `labels`, those of at least 0.5, and `probabilities`.

        pairs: the second text of each, where the student reads pairs. all_probabilities: add `probabilities`, those of every
        label. none_of_these: add the share of the pool's texts that are less unusual than this text; from 0.95 on, ask whether any
        label fits. estimated_accuracy: add the accuracy of the student's answers with this label, as the run estimated it. device: auto,
        cpu, cuda or mps. trust_remote_code: run code that comes with the student.

        A text that is empty, or has a NUL character or half of a surrogate pair, gets the label None, and the reason in `error`, as in
        `alloykit.predict`. The first call loads the student; later calls load it again only if its files have changed. AlloyError for values that are not
        texts, and if there is no student.
        """
        keys = AnswerKeys(all_probabilities, none_of_these, estimated_accuracy)
        if isinstance(texts, str):
            if pairs is not None and not isinstance(pairs, str):
                raise AlloyError(expected="a string as the second text of one text", got=f"a {type(pairs).__name__}")
            second = None if pairs is None else [pairs]
            return text_answers(self._predictor(device, trust_remote_code), [texts], second, keys)[0]
        check_texts_and_pairs(texts, pairs)
        # A column of pandas has its own idea of positions and of truth.
        seconds = None if pairs is None else list(pairs)
        return text_answers(self._predictor(device, trust_remote_code), list(texts), seconds, keys)

    def _predictor(self, device: str, trust_remote_code: bool) -> Predictor:
        """The loaded student, kept until its files change."""
        try:
            files = sorted((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in self.student.iterdir())
        except (OSError, ValueError):
            files = []  # `Predictor.load` says what is missing
        state = (files, device, trust_remote_code)
        kept = self.__dict__.get("_loaded")
        if kept is None or kept[0] != state:
            kept = (state, Predictor.load(self.student, device=device, trust_remote_code=trust_remote_code))
            self.__dict__["_loaded"] = kept  # not an attribute of the frozen class: two runs of one folder are equal
        loaded: Predictor = kept[1]
        return loaded

    def evaluate(
        self,
        data: str | Path | TextsOptions | None = None,
        *,
        text: str = "text",
        label: str = "label",
        text_pair: str | None = None,
        cache: str | Path | None = None,
        engine: Engine = None,
        trust_remote_code: bool = False,
        trust_python: bool = False,
        trust_url: bool = False,
        teachers: Teachers = (),
    ) -> dict[str, Any]:
        """The same as `alloykit.evaluate(run, …)`: scores of teachers, ensemble, routing and student on labelled texts."""
        columns = columns_beside(data, text=text, label=label, text_pair=text_pair)
        return evaluate_run_folder(
            self, data, cache=cache, engine=engine, trust_remote_code=trust_remote_code, trust_python=trust_python,
            trust_url=trust_url, teachers=teachers, **columns,
        )  # fmt: skip

    def report(self) -> Path:
        """Rewrite report.html and the student's card, and return the page's path. AlloyError for an unfinished run."""
        return report_run(self)
