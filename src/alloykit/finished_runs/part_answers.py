"""The answers to a part of a file of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alloykit.data.parts_of_file import TextsPart
from alloykit.data.table import row_problem
from alloykit.finished_runs.load_student import load_student
from alloykit.labels import GIVEN
from alloykit.serving.text_answers import AnswerKeys


@dataclass(frozen=True)
class Request:
    """What is asked of every file. folder: of a run or of a model. onnx: ask its ONNX export."""

    folder: Path
    columns: tuple[str, ...]
    keys: AnswerKeys
    onnx: bool
    trust_remote_code: bool


@dataclass(frozen=True)
class AnswersMaker:
    """Makes a worker: the student, loaded."""

    request: Request

    def __call__(self) -> _AnswersWorker:
        return _AnswersWorker(self.request)


class _AnswersWorker:
    """Its results: the answers to a part, as a record batch."""

    def __init__(self, request: Request) -> None:
        import pyarrow as pa

        self.request = request
        self.classifier = load_student(request.folder, onnx=request.onnx, trust_remote_code=request.trust_remote_code)
        request.keys.check(self.classifier)
        # Of each question: the prefix of its columns, its first label, its labels, and whether a text may have several of them. Other students
        # have one, without a prefix.
        parts = [(f"{part.name}.", part.first, part.labels, part.multi_label) for part in self.classifier.questions]
        self._answered = parts or [("", 0, self.classifier.labels, self.classifier.multi_label)]
        names = [("row", pa.int64())]
        for prefix, _, _, several in self._answered:
            if several:
                names += [(f"{prefix}labels", pa.list_(pa.string()))]
            else:
                names += [(f"{prefix}label", pa.string()), (f"{prefix}probability", pa.float32())]
        names += [
            (name, pa.float64()) for name in ("none_of_these", "estimated_accuracy") if getattr(request.keys, name)
        ]
        names += [("error", pa.string())]
        if request.keys.all_probabilities:
            names += [(f"p({label})", pa.float32()) for label in self.classifier.labels]
        self._schema = pa.schema(names)

    def __call__(self, part: TextsPart) -> Any:
        import pyarrow as pa

        return pa.record_batch(self._answers(part.rows, part.first), schema=self._schema)

    def _answers(self, rows: Sequence[Sequence[Any]], first: int) -> list[Any]:
        """The columns of some rows."""
        import numpy as np
        import pyarrow as pa

        problems = [row_problem(*row) for row in rows]
        at = [i for i, problem in enumerate(problems) if not problem]
        labels = self.classifier.labels
        keys, unusual = self.request.keys, np.zeros(len(rows))
        p = np.full((len(rows), len(labels)), np.nan, dtype=np.float32)
        if at:
            pairs = [rows[i][1] for i in at] if len(self.request.columns) > 1 else None
            predicted = self.classifier.predict(
                [rows[i][0] for i in at], pairs, "prediction", none_of_these=keys.none_of_these, progress=False
            )
            p[at] = predicted.probabilities.numpy()
            if predicted.none_of_these is not None:
                unusual[at] = predicted.none_of_these.numpy()
        without = np.isnan(p[:, 0])
        columns = [pa.array(range(first, first + len(rows)), pa.int64())]
        for _, start, own, several in self._answered:
            part = p[:, start : start + len(own)]
            if several:
                given = [
                    None if lacks else [label for label, q in zip(own, row, strict=True) if q >= GIVEN]
                    for row, lacks in zip(part, without, strict=True)
                ]
                columns.append(pa.array(given, pa.list_(pa.string())))
                continue
            best = np.where(without, 0, np.nan_to_num(part).argmax(-1))
            chosen = [None if lacks else own[i] for i, lacks in zip(best, without, strict=True)]
            columns += [
                pa.array(chosen, pa.string()),
                pa.array(part[np.arange(len(rows)), best], pa.float32(), mask=without),
            ]
        if keys.none_of_these:
            columns.append(pa.array(unusual, pa.float64(), mask=without))
        if keys.estimated_accuracy:  # of a student with one question, whose labels exclude each other
            known = self.classifier.estimated_accuracy
            columns.append(pa.array([None if label is None else known.get(label) for label in chosen], pa.float64()))
        columns.append(pa.array([problem or None for problem in problems], pa.string()))
        every = range(len(labels)) if keys.all_probabilities else ()
        return columns + [pa.array(p[:, i], pa.float32(), mask=without) for i in every]
