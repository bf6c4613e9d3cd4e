"""Export a student as ONNX, and compare it with PyTorch before the files appear."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.data import load_texts
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.exporting.compared_answers import accuracy, compared_answers, times_as_fast
from alloykit.exporting.export_card import export_card
from alloykit.exporting.float16_graph import float16_graph
from alloykit.exporting.float_graph import float_graph
from alloykit.exporting.int8_graph import calibrated_forms, int8_graph, products_of
from alloykit.files import file_errors, write_atomic, write_json
from alloykit.labels import LabelSpace
from alloykit.models.batches import token_batches
from alloykit.models.export import IN_GRAPH, TEMPERATURE
from alloykit.models.onnx_session import onnx_package, onnx_session
from alloykit.models.tokens import encode, pad
from alloykit.progress import hushed, library_bars_off, log_line
from alloykit.recipe.models import Recipe
from alloykit.run_folder.file_names import EXPORT, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.output_folder import refuse_others
from alloykit.run_folder.read import recipe_of
from alloykit.serving.onnx_predictor import GRAPHS, OnnxFormat, OnnxPredictor
from alloykit.serving.predictor import Predictor
from alloykit.serving.question_answers import require_one_question, require_single_label
from alloykit.stages.texts import label_positions, origin_of, read, salted

RECORD = "export.json"
CALIBRATED, COMPARED, TIMED = 384, 1000, 128  # texts
SAME = 0.999  # share of texts on which the float32 graph must give the student's label
SAME_INT8 = 0.99
KEPT_IN_FLOAT = (
    0.125,
    0.25,
    0.5,
)  # shares of the tensors whose products stay in float32; the first share that reaches CALIBRATED_SAME is used
CALIBRATED_SAME = 0.995  # on the calibration texts, where agreement is a little higher than on other texts
RANKED = 128  # texts with which the tensors are ranked


@dataclass(frozen=True)
class _Sample:
    """calibration, compared: texts and pairs. labels: [n] of the last n texts of `compared`; None without labelled texts."""

    calibration: tuple[list[str], list[str | None] | None]
    compared: tuple[list[str], list[str | None] | None]
    labels: Tensor | None


def export_student(
    folder: Path,
    *,
    int8: bool = False,
    fp16: bool = False,
    texts: str | Path | None = None,
    output: Path | None = None,
    text: str = "text",
    text_pair: str | None = None,
) -> Path:
    """Write the ONNX folder of a run's student or of a model folder and return it. An earlier export is replaced.

    The complete folder appears after all graphs have passed the comparison. AlloyError for texts that cannot be found, a student that cannot
    be exported, or a graph whose answers differ from the student's.
    """
    for name in ("onnx", "onnxruntime"):
        onnx_package(name)
    is_run = (folder / RECIPE).exists()
    target = output or folder / EXPORT
    refuse_others(target, RECORD)
    model_folder = folder / "student" if is_run else folder
    predictor = Predictor.load(model_folder, device="cpu")
    require_one_question(predictor.questions, "an ONNX export")
    require_single_label(predictor.multi_label, "an ONNX export")
    if predictor.long_texts != "head":
        raise AlloyError(
            expected="a student with `long_texts: head`, to write it as ONNX",
            got=f"one with `long_texts: {predictor.long_texts}`",
            hint="Use the student in PyTorch, or train one with `training: {long_texts: head}`.",
        )
    config = json.loads((model_folder / "config.json").read_text(encoding="utf-8"))
    recipe = recipe_of(folder) if is_run else None
    sample = _sample(recipe, predictor.labels, texts, text=text, text_pair=text_pair)
    build = target.with_name(f".{target.name}.tmp")
    with locked(build):
        new = build / "new"
        shutil.rmtree(new, ignore_errors=True)
        try:
            with file_errors(target):
                _fill(new, predictor, config, sample, int8=int8, fp16=fp16)
                _swap(new, target, build / "old")
        finally:
            shutil.rmtree(build, ignore_errors=True)
    return target


def _swap(new: Path, target: Path, old: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        os.replace(target, old)
    os.replace(new, target)


def _sample(recipe: Recipe | None, names: tuple[str, ...], given: str | Path | None, **columns: Any) -> _Sample:
    """AlloyError that names --texts if the run's texts cannot be found."""
    if given is not None:
        pool = load_texts(given, **columns)
    elif recipe is None:
        raise AlloyError(
            expected="texts to compare the answers on",
            got="a model folder, which has no recipe with texts",
            hint="Add --texts FILE.",
        )
    else:
        try:
            pool = read(origin_of(recipe))
        except AlloyError as error:
            raise AlloyError(
                expected=error.expected, got=error.got, hint="Give texts of the same kind with --texts FILE."
            ) from error
    firsts = list(pool.table["text"])
    seconds = list(pool.table["text_pair"]) if pool.is_pair else [None] * len(firsts)
    order = torch.randperm(len(firsts), generator=torch.Generator().manual_seed(0)).tolist()
    calibration, rest = order[:CALIBRATED], order[CALIBRATED : CALIBRATED + COMPARED] or order
    compared = [(firsts[i], seconds[i]) for i in rest]
    labels = None
    if recipe is not None and recipe.evaluate is not None:
        try:
            test = read(salted(recipe.evaluate.data, recipe), want_labels=True)
            labels = label_positions(test, LabelSpace.union([names]), recipe.labels.aliases)
            compared += zip(
                test.table["text"], test.table["text_pair"] if test.is_pair else [None] * len(test), strict=True
            )
        except AlloyError as error:
            log_line(f"no accuracy: {error}")
    return _Sample(
        ([firsts[i] for i in calibration], [seconds[i] for i in calibration] if pool.is_pair else None),
        ([first for first, _ in compared], [second for _, second in compared] if pool.is_pair else None),
        labels,
    )


def _fill(
    folder: Path, predictor: Predictor, config: dict[str, Any], sample: _Sample, *, int8: bool, fp16: bool
) -> None:
    """Write all files of the export into a new folder. AlloyError for a graph that does not pass."""
    folder.mkdir(parents=True)
    expected = predictor.probabilities(*sample.compared, name="PyTorch")
    graph = float_graph(predictor)
    record: dict[str, Any] = {"texts": len(expected), "threads": torch.get_num_threads(), "graphs": {}}
    if sample.labels is not None:
        record |= {
            "labelled_texts": len(sample.labels),
            "accuracy": accuracy(expected[-len(sample.labels) :], sample.labels),
        }

    def measure(name: OnnxFormat, content: bytes) -> dict[str, Any]:
        student = _opened(content, predictor)
        found = student.probabilities(*sample.compared, name=f"ONNX, {name}")
        one: dict[str, Any] = {"file": GRAPHS[name], "bytes": len(content)} | compared_answers(expected, found)
        if sample.labels is not None:
            one["accuracy"] = accuracy(found[-len(sample.labels) :], sample.labels)
        if name != "float16":  # it is made for other devices
            firsts, seconds = sample.compared
            short = firsts[:TIMED], seconds and seconds[:TIMED]
            with hushed():
                one["times_as_fast"] = times_as_fast(
                    lambda: predictor.probabilities(*short), lambda: student.probabilities(*short)
                )
        return one

    def save(name: OnnxFormat, content: bytes, one: dict[str, Any]) -> None:
        write_atomic(folder / GRAPHS[name], content)
        record["graphs"][name] = one
        log_line(
            f"{GRAPHS[name]}: {len(content) / 1e6:.1f} MB, the same label on {100 * one['same_label']:.2f} % of {one['texts']:,} texts, "
            f"largest difference of a probability {one['largest_difference']:.2g}"
            + (f", {one['times_as_fast']:.1f} × as fast as PyTorch" if "times_as_fast" in one else "")
        )

    one = measure("float32", graph)
    _check(one, "float32", SAME)
    save("float32", graph, one)
    if int8:
        content, kept = _int8(graph, predictor, sample, expected)
        one = measure("int8", content) | {"tensors_in_float32": kept}
        if one["same_label"] < SAME_INT8:
            text = f"the int8 graph gives the same label as the student on only {100 * one['same_label']:.1f} % of the texts"
            warnings.warn(AlloyWarning(text), stacklevel=2)
        save("int8", content, one)
    if fp16:
        content = float16_graph(graph)
        one = measure("float16", content)
        _check(one, "float16", SAME_INT8)
        save("float16", content, one)
    with library_bars_off():
        predictor.tokenizer.model_max_length = predictor.max_length
        predictor.tokenizer.save_pretrained(folder)
    config.pop(TEMPERATURE, None)
    write_json(folder / "config.json", config | {IN_GRAPH: predictor.temperature})
    write_json(folder / RECORD, record)
    write_atomic(folder / "README.md", export_card(record, len(predictor.labels), predictor.temperature))


def _opened(graph: bytes, predictor: Predictor) -> OnnxPredictor:
    return OnnxPredictor(
        onnx_session(graph), predictor.tokenizer, predictor.labels, predictor.max_length, predictor.temperature
    )


def _check(one: dict[str, Any], name: str, least: float) -> None:
    if one["same_label"] < least:
        raise AlloyError(
            expected=f"an ONNX graph in {name} that gives the student's label on at least {100 * least:.1f} % of {one['texts']} texts",
            got=f"{100 * one['same_label']:.2f} %, with differences of probabilities up to {one['largest_difference']:.2g}",
            hint="Nothing was exported. alloykit may not support this architecture. Use the student with PyTorch.",
        )


def _int8(graph: bytes, predictor: Predictor, sample: _Sample, expected: Tensor) -> tuple[bytes, int]:
    """The int8 graph with the fewest products in float32 that reaches CALIBRATED_SAME on the calibration texts, and the number of their tensors.

    The products whose quantisation alone changes the probabilities most stay in float32 first.
    """
    encodings = encode(predictor.tokenizer, *sample.calibration, predictor.max_length)
    batches = [
        {key: value.numpy() for key, value in pad(predictor.tokenizer, [encodings[i] for i in rows]).items()}
        for rows in token_batches([len(e["input_ids"]) for e in encodings], 2048)
    ]
    products = products_of(graph)
    log_line(f"int8: calibrating {len(products)} tensors on {len(encodings):,} texts")
    forms = calibrated_forms(graph, products, batches)
    wanted = predictor.probabilities(*sample.calibration, name="PyTorch, calibration texts")
    firsts, seconds = sample.calibration
    few = firsts[:RANKED], seconds and seconds[:RANKED]
    with hushed():
        error = {
            name: float(
                (
                    _opened(int8_graph(graph, products, {name: form}), predictor).probabilities(*few)
                    - wanted[: len(few[0])]
                )
                .abs()
                .mean()
            )
            for name, form in forms.items()
        }
    worst = sorted(error, key=lambda name: -error[name])
    content, kept = b"", 0
    for share in KEPT_IN_FLOAT:
        kept = round(share * len(worst))
        content = int8_graph(graph, products, {name: forms[name] for name in worst[kept:]})
        found = _opened(content, predictor).probabilities(*sample.calibration, name="int8, calibration texts")
        if compared_answers(wanted, found)["same_label"] >= CALIBRATED_SAME:
            break
    return content, kept
