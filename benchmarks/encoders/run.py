"""`python -m benchmarks encoders NAME`: train an encoder if it is not there, and report its size and accuracy."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from alloykit.json_files import read_json, write_json
from alloykit.progress import log_line
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.serving.predictor import Predictor
from alloykit.teaching.teach_recipes import teach_recipe
from benchmarks.encoders.train import Plan, train
from benchmarks.harness.data import Files, read
from benchmarks.harness.profiles import SMALL, Profile
from benchmarks.harness.results import RESULTS, commit
from benchmarks.harness.sets import SETS
from benchmarks.speed.measure import machine

RATES = (2e-4, 5e-4, 1e-3)  # the first is that of the tables' pretrained encoders


@dataclass(frozen=True)
class EncoderRun:
    """`probes`: sets on which the encoder is fine-tuned with all labels, to say how good it is."""

    options: ClassVar = ()  # it is run as a whole
    plan: Plan
    title: str
    probes: tuple[str, ...]

    def selectable(self) -> tuple[()]:
        return ()

    def fill(self, data: Path, work: Path, *, retry: bool = False, **only: Any) -> None:
        """Train and probe, unless that was done (with `retry` again)."""
        folder, result = work / "encoders" / self.plan.name, RESULTS / "encoders" / f"{self.plan.name}.json"
        if retry or not (folder / "config.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            unfinished = folder.with_name(folder.name + ".part")
            log_line(f"encoder {self.plan.name}: {self.title}")
            trained = train(self.plan, data, unfinished)
            write_json(unfinished / "trained.json", {"commit": commit(), "machine": machine(), **trained})
            unfinished.rename(folder)
        about = {"command": f"python -m benchmarks encoders {self.plan.name}", "plan": asdict(self.plan)}
        probes = {name: self._probes(name, SMALL, data, work) for name in self.probes}
        write_json(result, about | {"trained": read_json(folder / "trained.json"), "probes": probes})

    def _probes(self, name: str, profile: Profile, data: Path, work: Path) -> dict[str, Any]:
        """Accuracy after fine-tuning on as many texts as a table's teachers learn from, with all labels: by learning rate on other
        texts of the training file, and with the best rate on the test texts."""
        files = Files(data, work / "encoders" / "texts" / name, SETS[name], profile, 0)
        rates, tested = {}, {}
        for rate in RATES:
            classifier = self._tuned(name, files, rate, profile, work)
            rates[rate], tested[rate] = (_accuracy(classifier, path) for path in (files.pool("disjoint"), files.test()))
        best = max(rates, key=lambda rate: rates[rate])
        return {
            "texts": profile.texts,
            "test": len(read(files.test())),
            "rates": rates,
            "rate": best,
            "accuracy": tested[best],
        }

    def _tuned(self, name: str, files: Files, rate: float, profile: Profile, work: Path) -> Predictor:
        output = work / "encoders" / f"{self.plan.name}-on-{name}"
        shutil.rmtree(output, ignore_errors=True)
        recipe = {
            "model": {"model": str(work / "encoders" / self.plan.name)},
            "data": {"path": str(files.teachers("shared")), "label": "label"},
            "training": {**profile.teacher, "learning_rate": rate, "max_length": profile.max_length},
            "output": str(output),
        }
        return Predictor.load(teach_recipe(parse(recipe, TeachRecipe)), profile.max_length)


def _accuracy(classifier: Predictor, path: Path) -> float:
    table = read(path)
    predicted = [classifier.labels[int(i)] for i in classifier.probabilities(list(table["text"])).argmax(-1)]
    right = torch.tensor([a == b for a, b in zip(predicted, table["label"], strict=True)])
    return round(float(right.double().mean()), 4)
