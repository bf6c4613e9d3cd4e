"""The metrics and warnings that a run collects for metrics.json."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alloykit.json_files import write_json
from alloykit.methods.registry import spec_of
from alloykit.models.export import ESTIMATED, TEMPERATURE, save_in_config
from alloykit.progress import warn_line
from alloykit.run_folder.file_names import METRICS
from alloykit.run_folder.read import read_summary
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.none_of_these_file import save_none_of_these
from alloykit.stages.alike_warnings import alike_as_one
from alloykit.stages.diagnostics import learning_view, pool_view, student_view
from alloykit.stages.fit import Fitted
from alloykit.stages.knowledge import Knowledge
from alloykit.stages.model_sizes import model_sizes
from alloykit.stages.multi_label_views import multi_label_pool
from alloykit.stages.prepared import Prepared
from alloykit.stages.recipe_texts import generated_folder
from alloykit.stages.train_student import TrainedStudent

LEARNED = 0.8  # share of held-out texts with the label of their target, from which on the targets' accuracy says something of the student's


@dataclass
class Findings:
    """`metrics`: by their keys in metrics.json. `warnings`: each is printed as soon as it is found, those that are alike as one; `printed` counts those that
    were."""

    metrics: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
    printed: int = 0

    @classmethod
    def of_inputs(cls, prepared: Prepared, warnings: Iterable[str]) -> Findings:
        """Method, labels by teacher, texts."""
        space, texts = prepared.space, prepared.texts
        return cls(
            {
                "method": spec_of(prepared.method),
                "learns_from_labels": prepared.method.needs.labels,
                "labels": list(space.names),
                "teachers": {name: list(labels) for name, labels in zip(prepared.names, space.teachers, strict=True)},
                "texts": {"used": len(texts), "duplicates": texts.duplicates, **texts.dropped},
            },
            list(warnings),
        )

    def add_pool(self, prepared: Prepared, outputs: Knowledge, fitted: Fitted) -> None:
        """Results of the fit, and of teachers and method on the pool."""
        self.metrics["fit"] = fitted.report
        self.warnings += fitted.report["warnings"]
        if prepared.generated is not None and (summary := read_summary(generated_folder(prepared.recipe))) is not None:
            self.metrics["generated"] = summary["teachers"]
        if (estimated := prepared.method.estimated_accuracy(fitted.context)) is not None:
            self.metrics["estimated_accuracy"] = {
                "overall": estimated.overall,
                "labels": dict(zip(prepared.space.names, estimated.by_label, strict=True)),
                "labelled_texts": estimated.labelled_texts,
                "doubt": estimated.doubt,
                "tested": estimated.tested,
            }
        self.metrics |= pool_view(prepared, outputs, fitted.context, self.warnings)
        self._print()

    def add_student(
        self,
        prepared: Prepared,
        outputs: Knowledge,
        fitted: Fitted,
        student: TrainedStudent | None,
        *,
        report: bool,
    ) -> None:
        """Results of the training, and of the student on the pool. report: also compute what only the report shows, the student's
        temperature, and its none_of_these.safetensors."""
        if student is None:
            self._print()
            return
        if student.training is not None and "report" in student.training:
            self.warnings += student.training["report"]["warnings"]
        if report:
            self._add_answers(prepared, outputs, fitted, student.folder)
        self.metrics["learning"] = learning_view(prepared, student.training, self.metrics.get("student"))
        self.warnings += self.metrics["learning"].pop("warnings")
        self._print()

    def _add_answers(self, prepared: Prepared, outputs: Knowledge, fitted: Fitted, folder: Path) -> None:
        """What the student in `folder` says of the pool, and the sizes of all models."""
        classifier = prepared.predictor(folder)
        if prepared.method.needs.multi_label:
            view, unusual = multi_label_pool(prepared, classifier, outputs.stored)
            self.metrics["multi_label"] = {"pool": view}
            save_in_config(folder, {TEMPERATURE: view["temperature"]})
        else:
            view, unusual = student_view(prepared, classifier, outputs.pool, fitted.context, self.warnings)
            self.metrics["student"] = view
            estimated = (self.metrics.get("estimated_accuracy") or {}).get("labels")
            if (view.get("same_as_supervision") or 0) < LEARNED:
                estimated = None  # it is an estimate of the targets, and this student answers otherwise
            save_in_config(folder, {TEMPERATURE: view["temperature"], ESTIMATED: estimated})
        save_none_of_these(folder, unusual)
        self.metrics["models"] = model_sizes(prepared, classifier)

    @property
    def temperature(self) -> float | None:
        """The temperature that was fitted for the student; None without one."""
        several = self.metrics.get("multi_label", {}).get("pool", {})
        found: float | None = (self.metrics.get("student") or several).get("temperature")
        return found

    def write(
        self, run: RunFolder, prepared: Prepared, outputs: Knowledge, student: TrainedStudent | None, this_call: float
    ) -> None:
        """Write metrics.json. this_call: seconds since this call began."""
        training = None if student is None else student.training
        seconds = {
            "sweep": {name: round(outputs.store.seconds(name), 3) for name in prepared.names},
            "training": None if training is None else training["seconds"],
            "this call": round(this_call, 1),
        }
        write_json(run.folder / METRICS, self.metrics | {"warnings": self.warnings, "seconds": seconds})

    def _print(self) -> None:
        self.warnings[self.printed :] = alike_as_one(self.warnings[self.printed :])
        for warning in self.warnings[self.printed :]:
            warn_line(warning)
        self.printed = len(self.warnings)
