"""Every classifier's probabilities of the test texts. They are stored, so that further figures need no model."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.evaluation.metrics import score
from alloykit.file_errors import check_readable
from alloykit.files import replace_atomic
from alloykit.labels import LabelSpace
from alloykit.methods.ensemble import Ensemble
from alloykit.methods.protocol import Context, Method
from alloykit.methods.registry import create
from alloykit.methods.requirements import supervised
from alloykit.outputs import Source, chunks
from alloykit.stats.entropy import confidence

STUDENT, ENSEMBLE, ROUTING = "student", "ensemble", "routing"


@dataclass
class Answers:
    """n labelled texts and the probabilities of every classifier.

    `labels`: [n] int64 positions in the union. `probabilities`: classifier → [n, C] float32, where a classifier is "teacher NAME"
    (zeros at labels that it does not know), "ensemble", "routing" (the method's target) or "student".
    `teacher_weights`: [n, N], the weight of each teacher in the method's routing; `weights`: [n], v(x). Both None
    for methods without them. `confidence`: [n, N], each teacher's normalised-entropy confidence, NaN where its answer does not count (`TeacherRows.counts`).
    """

    labels: Tensor
    confidence: Tensor
    probabilities: dict[str, Tensor] = field(default_factory=dict)
    teacher_weights: Tensor | None = None
    weights: Tensor | None = None
    ids: Tensor | None = None
    """The ids of the texts, [n, 16] uint8; only of answers that were loaded from a file."""
    answered: Tensor | None = None
    """Which teacher has an answer to which text, [n, N] bool; None where every teacher has one to every text."""

    def answered_by(self, teachers: list[str]) -> dict[str, Tensor]:
        """By classifier, the texts that it has an answer to, [n] bool; only of teachers that lack some."""
        if self.answered is None:
            return {}
        found = {f"teacher {name}": texts for name, texts in zip(teachers, self.answered.T, strict=True)}
        return {way: texts for way, texts in found.items() if not bool(texts.all())}

    def scores(self, space: LabelSpace, teachers: list[str]) -> dict[str, dict[str, Any]]:
        """Accuracy, macro-F1 and accuracy per teacher's labels, of every classifier.

        The routing also has `correct_teacher`, the share of texts for which the teacher with the largest weight knows the true label, and
        `correct_teacher_balanced`, its mean over the teachers, each over the texts whose label it knows. A teacher is scored on the texts that it
        has an answer to, and has `unanswered`, the number of the others; one without any answer has no scores.
        """
        found, known = dict[str, dict[str, Any]](), self.answered_by(teachers)
        for way, probabilities in self.probabilities.items():
            answered = known.get(way)
            if answered is None:
                found[way] = score(probabilities.argmax(-1), self.labels, space, teachers)
            elif bool(answered.any()):
                scored = score(probabilities[answered].argmax(-1), self.labels[answered], space, teachers)
                found[way] = scored | {"unanswered": int((~answered).sum())}
        if ROUTING in found and self.teacher_weights is not None:
            right = space.has_label()[self.teacher_weights.argmax(-1), self.labels]
            found[ROUTING]["correct_teacher"] = float(right.double().mean())
            each = [right[known] for known in space.has_label()[:, self.labels] if bool(known.any())]
            found[ROUTING]["correct_teacher_balanced"] = float(torch.stack([e.double().mean() for e in each]).mean())
        return found

    def save(self, path: Path, ids: list[str]) -> None:
        """Write everything to one safetensors file, with the ids of the texts ([n, 16] uint8)."""
        tensors = {f"probabilities.{way}": p for way, p in self.probabilities.items()}
        tensors |= {"labels": self.labels, "confidence": self.confidence}
        tensors |= {"ids": torch.frombuffer(bytearray.fromhex("".join(ids)), dtype=torch.uint8).view(-1, 16)}
        for name in ("teacher_weights", "weights", "answered"):
            if (value := getattr(self, name)) is not None:
                tensors[name] = value
        whole = {k: v.contiguous() for k, v in tensors.items()}
        about = {"ways": json.dumps(list(self.probabilities))}  # in order: safetensors sorts by name
        replace_atomic(path, lambda temporary: safetensors.torch.save_file(whole, temporary, about))

    @classmethod
    def load(cls, path: Path) -> Answers:
        """Load a saved file. AlloyError if it is damaged or holds something else."""
        try:
            check_readable(path)
            with safetensors.safe_open(path, framework="pt") as file:
                ways = json.loads((file.metadata() or {})["ways"])
            tensors = safetensors.torch.load_file(path)
            found = cls(
                tensors["labels"],
                tensors["confidence"],
                {str(way): tensors[f"probabilities.{way}"] for way in ways},
                tensors.get("teacher_weights"),
                tensors.get("weights"),
                tensors["ids"],
                tensors.get("answered"),
            )
            found._check()
        except (AlloyError, safetensors.SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            got = error.got if isinstance(error, AlloyError) else f"'{error}'"
            raise AlloyError(
                expected=f"a whole file {path}", got=got, hint="Run `alloykit evaluate` on this run again."
            ) from error
        return found

    def _check(self) -> None:
        """ValueError if the shapes do not fit."""
        n, widths = len(self.labels), {p.shape[1:] for p in self.probabilities.values()}
        shapes = [
            self.labels.dim() == 1,
            self.confidence.dim() == 2,
            self.labels.dtype == torch.int64,
            len(widths) == 1,
        ]
        shapes += [len(p) == n and p.dim() == 2 and p.is_floating_point() for p in self.probabilities.values()]
        shapes += [
            len(t) == n for t in (self.confidence, self.teacher_weights, self.weights, self.answered) if t is not None
        ]
        shapes += [self.ids is not None and self.ids.shape == (n, 16) and self.ids.dtype == torch.uint8]
        if not all(shapes):
            raise ValueError("tensors of other shapes or types")
        if n and not 0 <= int(self.labels.min()) <= int(self.labels.max()) < next(iter(widths))[0]:
            raise ValueError("labels that are no positions in the union")


def of_teachers(
    source: Source, labels: Tensor, method: Method | None, context: Context, teachers: list[str]
) -> Answers:
    """The answers of every teacher alone, of their ensemble and, for a method with a single target, of its routing.

    source: the teachers' outputs for n texts. labels: [n] int64, the true ones. method: None leaves out the routing. teachers: their names.
    """
    ways: dict[str, Method] = {
        f"teacher {name}": create({"name": "teacher", "which": i}) for i, name in enumerate(teachers)
    }
    ways[ENSEMBLE] = Ensemble(Ensemble.Options())
    if method is not None and (classifier := method.as_classifier()) is not None:
        ways[ROUTING] = classifier
    parts: dict[str, list[Tensor]] = {way: [] for way in ways}
    confidences: list[Tensor] = []
    owners: list[Tensor] = []
    weights: list[Tensor] = []
    answered: list[Tensor] = []
    for rows in chunks(source):
        some = rows.answered()
        every = torch.ones(len(rows.teachers[0].logits), len(rows.teachers), dtype=torch.bool)
        answered.append(every if some is None else some)
        c = torch.stack([confidence(t.mean_probabilities()) for t in rows.teachers], dim=-1)
        confidences.append(c if (counts := rows.counts()) is None else c.masked_fill(~counts, torch.nan))
        for way, asked in ways.items():
            supervision = supervised(asked, rows, context, len(rows.teachers[0].logits))
            assert supervision is not None
            parts[way].append(supervision.targets.float())
            if way == ROUTING:
                weights.append(supervision.weights)
                owners += [] if supervision.teacher_weights is None else [supervision.teacher_weights]
    all_answered = torch.cat(answered)
    return Answers(
        labels,
        torch.cat(confidences),
        {way: torch.cat(p) for way, p in parts.items()},
        torch.cat(owners) if owners else None,
        torch.cat(weights) if weights else None,
        answered=None if bool(all_answered.all()) else all_answered,
    )
