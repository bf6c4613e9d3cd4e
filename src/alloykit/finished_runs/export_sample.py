"""The texts on which the graphs of an export are calibrated and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from alloykit.data import Texts, load_texts
from alloykit.errors import AlloyError
from alloykit.exporting.compared_answers import accuracy
from alloykit.labels import LabelSpace
from alloykit.models.questions import QuestionPart
from alloykit.progress import log_line
from alloykit.recipe.recipe import Recipe
from alloykit.stages.recipe_texts import label_matrix, label_positions, origin_of, read, salted
from alloykit.stats.sampled_positions import sampled_positions

CALIBRATED, COMPARED = 384, 1000  # texts


@dataclass(frozen=True)
class ExportSample:
    """calibration, compared: texts and pairs. labelled: by the names of the predictor's parts; empty without labelled texts."""

    calibration: tuple[list[str], list[str | None] | None]
    compared: tuple[list[str], list[str | None] | None]
    labelled: Mapping[str, LabelledSample]


@dataclass(frozen=True)
class LabelledSample:
    """Labelled texts of one question. at: where they are in `compared`. labels: [n] int64; [n, C] bool of a multi-label question."""

    at: slice
    labels: Tensor

    def accuracy(self, probabilities: Tensor) -> float:
        return accuracy(probabilities[self.at], self.labels)


def export_sample(
    recipes: Mapping[str, Recipe], parts: Sequence[QuestionPart], given: str | Path | None, **columns: Any
) -> ExportSample:
    """A sample of the given texts or of the run's pool, and the recipes' test texts. recipes: by the names of the parts; empty for a model folder.
    given: the texts of --texts. AlloyError that names --texts if the run's texts cannot be found."""
    pool = load_texts(given, **columns) if given is not None else _pool(recipes)
    taken = pool.table.take(sampled_positions(len(pool), CALIBRATED + COMPARED), pool.text_columns)
    texts, pairs = taken["text"], taken.get("text_pair") or [None] * len(taken["text"])
    compared, seconds = texts[CALIBRATED:] or texts, pairs[CALIBRATED:] or pairs
    labelled = dict[str, LabelledSample]()
    for part in parts:
        recipe = recipes.get(part.name)
        if recipe is None or recipe.evaluate is None:
            continue
        try:
            test = read(salted(recipe.evaluate.data, recipe), want_labels=True)
            positions = label_matrix if part.multi_label else label_positions
            labels = positions(test, LabelSpace.union([part.labels]), recipe.labels.aliases)
        except AlloyError as error:
            log_line(f"no accuracy{f' of {part.name}' if part.name else ''}: {error}")
            continue
        labelled[part.name] = LabelledSample(slice(len(compared), len(compared) + len(test)), labels)
        compared, seconds = compared + list(test.table["text"]), seconds + (test.pairs or [None] * len(test))
    return ExportSample(
        (texts[:CALIBRATED], pairs[:CALIBRATED] if pool.is_pair else None),
        (compared, seconds if any(second is not None for second in seconds) else None),
        labelled,
    )


def _pool(recipes: Mapping[str, Recipe]) -> Texts:
    """The texts of the run. All its questions have the same ones."""
    if not recipes:
        raise AlloyError(
            expected="texts to compare the answers on",
            got="a model folder, which has no recipe with texts",
            hint="Add --texts FILE.",
        )
    try:
        return read(origin_of(next(iter(recipes.values()))))
    except AlloyError as error:
        raise AlloyError(
            expected=error.expected, got=error.got, hint="Give texts of the same kind with --texts FILE."
        ) from error
