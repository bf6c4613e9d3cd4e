"""Export a student as ONNX, and compare it with PyTorch before the files appear."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.exporting.compared_answers import compared_answers, compared_scores, rounded_down, times_as_fast
from alloykit.exporting.export_card import export_card
from alloykit.exporting.float16_graph import float16_graph
from alloykit.exporting.float_graph import float_graph
from alloykit.exporting.int8_graphs import int8_graphs
from alloykit.exporting.opened_graph import opened_graph
from alloykit.file_errors import file_errors
from alloykit.files import move_folder, write_atomic
from alloykit.finished_runs.export_sample import ExportSample, export_sample
from alloykit.json_files import write_json
from alloykit.models.checksums import write_checksums
from alloykit.models.export import IN_GRAPH, ONE_LENGTH, TEMPERATURE
from alloykit.models.folder import NONE_OF_THESE
from alloykit.models.onnx_session import onnx_package
from alloykit.models.questions import KEY as QUESTIONS_KEY
from alloykit.models.questions import entries_of_export
from alloykit.progress import hushed, library_bars_off, log_line
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import EXPORT
from alloykit.run_folder.lock import locked
from alloykit.run_folder.output_folder import refuse_others
from alloykit.run_folder.read import any_recipe_of
from alloykit.run_folder.run_folder import classifier_folder, is_run_folder
from alloykit.serving.onnx_predictor import GRAPHS, OnnxFormat
from alloykit.serving.predictor import Predictor

RECORD = "export.json"
TIMED = 128  # texts
SAME = 0.999  # share of texts on which the float32 graph must give the student's label
APART = 0.05  # the largest difference of a probability of the float32 graph
UNSUPPORTED = "alloykit may not support this architecture. Use the student with PyTorch."
MIN_AGREEMENT = 0.99
"""The least share of texts on which the int8 and float16 graphs must give the student's label."""


def export_student(
    folder: Path,
    *,
    int8: bool = False,
    fp16: bool = False,
    min_agreement: float = MIN_AGREEMENT,
    texts: str | Path | None = None,
    output: Path | None = None,
    text: str = "text",
    text_pair: str | None = None,
    trust_remote_code: bool = False,
) -> Path:
    """Write the ONNX folder of a run's student or of a model folder and return it. An earlier export is replaced.

    The complete folder appears after all graphs have passed the comparison. min_agreement: the least share of texts on which the int8 and
    float16 graphs must give the student's label. AlloyError for texts that cannot be found, a student that cannot be exported, or a graph whose
    answers differ from the student's.
    """
    for name in ("onnx", "onnxruntime"):
        onnx_package(name)
    if not 0 <= min_agreement <= 1:
        raise AlloyError(
            expected="a share from 0 to 1 for --min-agreement", got=f"{min_agreement:g}", hint="For instance 0.97."
        )
    target = output or folder / EXPORT
    if target.name in ("", ".."):
        target = target.resolve()
    if not target.name:
        raise AlloyError(expected="a folder as `--output`", got=f"'{target}'", hint="For instance `--output exported`.")
    refuse_others(target, RECORD)
    model_folder = classifier_folder(folder)
    build = target.with_name(f".{target.name}.tmp")
    # A run whose student is replaced meanwhile would get the export of the earlier one.
    own = is_run_folder(folder) and target.resolve() == (folder / EXPORT).resolve()
    with locked(folder) if own else nullcontext(), locked(build):
        predictor = Predictor.load(model_folder, device="cpu", trust_remote_code=trust_remote_code)
        sample = export_sample(_recipes(folder), predictor.parts, texts, text=text, text_pair=text_pair)
        new, old = build / "new", build / "old"
        with file_errors(target):
            _put_back(old, target)  # a kill came between the two renames of `_swap`
        shutil.rmtree(new, ignore_errors=True)
        try:
            with file_errors(target):
                _Export(new, predictor, sample, min_agreement).write(
                    model_folder, int8=int8, fp16=fp16, with_code=trust_remote_code
                )
                _swap(new, target, old)
        finally:
            with file_errors(target):
                _put_back(old, target)
            shutil.rmtree(build, ignore_errors=True)
    return target


def _swap(new: Path, target: Path, old: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        os.replace(target, old)
    move_folder(new, target)


def _put_back(old: Path, target: Path) -> None:
    """The earlier export, if `_swap` did not end."""
    if old.is_dir() and not os.path.lexists(target):
        os.replace(old, target)


def _recipes(folder: Path) -> dict[str, Recipe]:
    """The recipe of each question of a run, under the names of its student's parts; empty for a model folder."""
    if not is_run_folder(folder):
        return {}
    found = any_recipe_of(folder)
    return (
        {name: found.question(name) for name in found.questions} if isinstance(found, QuestionsRecipe) else {"": found}
    )


class _Export:
    """Writes all files of the export into a new folder. AlloyError for a graph that does not pass."""

    def __init__(self, folder: Path, predictor: Predictor, sample: ExportSample, min_agreement: float) -> None:
        self.folder, self.predictor, self.sample, self.min_agreement = folder, predictor, sample, min_agreement
        self.expected = predictor.predict(*sample.compared, name="PyTorch", none_of_these=predictor.knows_unusual)
        self.record: dict[str, Any] = {
            "texts": len(self.expected.probabilities),
            "threads": torch.get_num_threads(),
            "long_texts": predictor.long_texts,
            "graphs": {},
        }
        if predictor.questions:
            self.record["questions"] = [
                {
                    "question": p.name,
                    "labels": len(p.labels),
                    "multi_label": p.multi_label,
                    "temperature": p.temperature,
                }
                for p in predictor.questions
            ]
        self.record["multi_label"] = predictor.multi_label
        if sample.labelled:
            self.record["labelled_texts"] = self._by_question(
                {name: len(one.labels) for name, one in sample.labelled.items()}
            )
            self.record["accuracy"] = self._accuracy(self.expected.probabilities)

    def _by_question(self, values: Mapping[str, Any]) -> Any:
        """By question; of a student with one question, its value."""
        return dict(values) if self.predictor.questions else values[""]

    def _accuracy(self, probabilities: Tensor) -> Any:
        parts = {part.name: part for part in self.predictor.parts}
        return self._by_question(
            {name: own.accuracy(parts[name].of(probabilities)) for name, own in self.sample.labelled.items()}
        )

    def write(self, model_folder: Path, *, int8: bool, fp16: bool, with_code: bool) -> None:
        """model_folder: the student's. Its config.json goes into the export too, and with_code also its Python files, if config.json names some."""
        config: dict[str, Any] = json.loads((model_folder / "config.json").read_text(encoding="utf-8"))
        self.folder.mkdir(parents=True)
        graph = float_graph(self.predictor)
        self._add("float32", graph, SAME)
        if int8:
            self._add_int8(graph)
        if fp16:
            self._add("float16", float16_graph(graph), self.min_agreement)
        tokenizer = self.predictor.tokenizer
        with library_bars_off():
            tokenizer.model_max_length = self.predictor.max_length
            tokenizer.save_pretrained(self.folder)
        exported = {key: value for key, value in config.items() if key != TEMPERATURE}
        if self.predictor.one_length:
            exported[ONE_LENGTH] = True
        if self.predictor.questions:
            exported[QUESTIONS_KEY] = entries_of_export(self.predictor.questions)
        else:
            exported[IN_GRAPH] = self.predictor.temperature
        write_json(self.folder / "config.json", exported)
        if self.predictor.knows_unusual:
            shutil.copyfile(model_folder / NONE_OF_THESE, self.folder / NONE_OF_THESE)
        # A file may be a link to a private one, so nothing is copied for a user who does not trust the folder.
        if with_code and config.get("auto_map"):
            for code in model_folder.glob("*.py"):
                shutil.copyfile(code, self.folder / code.name)
        write_checksums(self.folder, [self.folder / GRAPHS[name] for name in self.record["graphs"]])
        write_json(self.folder / RECORD, self.record)
        card = export_card(self.record, self.predictor.parts)
        write_atomic(self.folder / "README.md", card)

    @property
    def _label(self) -> str:
        return "labels" if any(part.multi_label for part in self.predictor.parts) else "label"

    def _add(self, name: OnnxFormat, graph: bytes, least: float) -> None:
        one = self._measured(name, graph)
        if one["same_label"] < least:
            raise self._refusal(name, one, least)
        if name == "float32" and one["largest_difference"] > APART:
            raise AlloyError(
                expected=f"an ONNX graph in float32 whose probabilities differ from the student's by at most {APART:g}",
                got=f"a difference of {one['largest_difference']:.2g}",
                hint=f"Nothing was exported. {UNSUPPORTED}",
            )
        self._save(name, graph, one)

    def _add_int8(self, graph: bytes) -> None:
        """The first candidate that gives the student's label often enough."""
        best: dict[str, Any] = {"same_label": -1.0}
        for content, kept in int8_graphs(graph, self.predictor, *self.sample.calibration):
            one = self._measured("int8", content) | {"tensors_in_float32": kept}
            if one["same_label"] >= self.min_agreement:
                self._save("int8", content, one)
                return
            best = max(best, one, key=lambda each: float(each["same_label"]))
            log_line(
                f"int8 with {kept} tensors in float32: the same {self._label} on only {rounded_down(one['same_label'])} of the texts"
            )
        raise self._refusal("int8", best, self.min_agreement)

    def _measured(self, name: OnnxFormat, graph: bytes) -> dict[str, Any]:
        student, sample = opened_graph(graph, self.predictor), self.sample
        try:
            found = student.predict(*sample.compared, name=f"ONNX, {name}", none_of_these=student.knows_unusual)
        except AlloyError as error:  # the trace of some architectures holds for one length of text
            raise AlloyError(
                expected=f"an ONNX graph in {name} that reads texts of every length",
                got=f"one that fails: {error.got}",
                hint=f"Nothing was exported. {UNSUPPORTED}",
            ) from error
        one: dict[str, Any] = {"file": GRAPHS[name], "bytes": len(graph)}
        one |= compared_answers(self.expected.probabilities, found.probabilities, self.predictor.parts)
        if self.expected.none_of_these is not None and found.none_of_these is not None:
            one["none_of_these"] = compared_scores(self.expected.none_of_these, found.none_of_these)
        if sample.labelled:
            one["accuracy"] = self._accuracy(found.probabilities)
        if name != "float16":  # it is made for other devices
            firsts, seconds = sample.compared
            short = firsts[:TIMED], seconds and seconds[:TIMED]
            with hushed():
                one["times_as_fast"] = times_as_fast(
                    lambda: self.predictor.probabilities(*short), lambda: student.probabilities(*short)
                )
        return one

    def _save(self, name: OnnxFormat, graph: bytes, one: dict[str, Any]) -> None:
        write_atomic(self.folder / GRAPHS[name], graph)
        self.record["graphs"][name] = one
        log_line(
            f"{GRAPHS[name]}: {len(graph) / 1e6:.1f} MB, the same {self._label} on {_shares(one.get('questions', one['same_label']))} of {one['texts']:,} texts, "
            f"largest difference of a probability {one['largest_difference']:.2g}"
            + (f", {one['times_as_fast']:.1f} × as fast as PyTorch" if "times_as_fast" in one else "")
        )

    def _refusal(self, name: OnnxFormat, one: dict[str, Any], least: float) -> AlloyError:
        if name == "float32":
            hint = UNSUPPORTED
        else:
            scores = (
                f" Its accuracy on the labelled texts is {_shares(one['accuracy'])}, and PyTorch's is {_shares(self.record['accuracy'])}."
                if "accuracy" in one
                else ""
            )
            option = {"int8": "--int8", "float16": "--fp16"}[name]
            below = math.floor(1000 * one["same_label"]) / 1000
            hint = f"{scores} Leave out {option}, or accept this graph with --min-agreement {below:g}.".strip()
        return AlloyError(
            expected=f"an ONNX graph in {name} that gives the student's {self._label} on at least {rounded_down(least)} of {one['texts']:,} texts",
            got=f"{_shares(one.get('questions', one['same_label']))}, with differences of probabilities up to {one['largest_difference']:.2g}",
            hint=f"Nothing was exported. {hint}",
        )


def _shares(found: float | Mapping[str, float]) -> str:
    """A share, or the share of each question."""
    if isinstance(found, Mapping):
        return ", ".join(f"{rounded_down(share)} ({name})" for name, share in found.items())
    return rounded_down(found)
