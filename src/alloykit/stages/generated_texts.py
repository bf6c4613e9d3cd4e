"""Generate texts for every class of every teacher with a language model. A killed run continues where it stopped."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import datasets
from pydantic import TypeAdapter, ValidationError

from alloykit.blocks import effective
from alloykit.engines.choose import engine_of
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.generation_jobs import BatchOfTexts, BatchPlace, GenerationMaker
from alloykit.engines.jobs import JobEngine
from alloykit.errors import AlloyError
from alloykit.files import replace_atomic
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.quality import text_quality
from alloykit.generation.writer import GeneratedText
from alloykit.json_files import write_json
from alloykit.knowledge.store.artifacts import check_made, record_made, with_defaults_of
from alloykit.models.device import pick_device
from alloykit.models.location import model_identity
from alloykit.names import counted, unknown_name
from alloykit.progress import library_bars_off, log_line, logged_to, warn_line
from alloykit.recipe.generate_recipe import GenerateRecipe
from alloykit.recipe.recipe_blocks import LabelOptions
from alloykit.run_folder.file_names import LOG, SUMMARY
from alloykit.run_folder.lock import locked
from alloykit.run_folder.output_folder import refuse_others
from alloykit.stages.prepare import teachers_and_labels
from alloykit.stages.recipe_checks import require_engine
from alloykit.stages.recipe_texts import TEXTS_FILE
from alloykit.teachers.protocol import TeacherInfo, TeacherSpec

MADE_OF = "made_of.json"


_BATCH = TypeAdapter(BatchOfTexts)


@dataclass(frozen=True)
class _Work:
    """Who writes the texts."""

    options: EngineOptions
    engine: JobEngine
    maker: GenerationMaker


def generate_recipe(recipe: GenerateRecipe) -> Path:
    """Write `texts.parquet` (text, label, teacher, confidence, predicted, perplexity) and return its path. AlloyError."""
    folder = Path(recipe.output)
    with logged_to(folder / LOG, MADE_OF):
        return write_texts(
            recipe.teachers, recipe.labels, recipe.generation, folder,
            device=recipe.engine.device(pick_device(recipe.device), recipe.device), max_length=recipe.max_length,
            engine=recipe.engine,
        )  # fmt: skip


def write_texts(
    teachers: Sequence[TeacherSpec],
    labels: LabelOptions,
    options: GenerationOptions,
    folder: Path,
    *,
    device: str,
    max_length: int,
    engine: EngineOptions | None = None,
) -> Path:
    """`generate_recipe` without a recipe. Finished batches in `folder` are reused. device: of those who write. engine: who writes. Default: this process."""
    refuse_others(folder, MADE_OF)
    engine = engine or EngineOptions()
    with locked(folder):
        work = _Work(engine, engine_of(engine), GenerationMaker(options, device, max_length))
        return _write_texts(teachers, labels, options, folder, max_length, work)


def _write_texts(
    teachers: Sequence[TeacherSpec],
    labels: LabelOptions,
    options: GenerationOptions,
    folder: Path,
    max_length: int,
    work: _Work,
) -> Path:
    infos, space = teachers_and_labels(teachers, labels)
    require_engine(work.options, infos)
    check_generation(infos, options)
    _check_made(
        folder,
        {
            "options": effective(options),
            "max_length": max_length,
            "labels": [list(t) for t in space.teachers],
            "language_model": model_identity(options.language_model.model, options.language_model.revision),
            "teachers": {info.name: info.identity() for info in infos},
        },
    )
    target = folder / TEXTS_FILE
    if target.exists():
        log_line(f"{target} is finished already")
        return target
    begun = time.perf_counter()
    written = {
        info.name: _of_teacher(info, names, by_label, options.per_class)
        for info, names, by_label in zip(
            infos, space.teachers, _texts_by_label(infos, options, folder, work), strict=True
        )
    }
    rows = [row for each in written.values() for row in each.rows]
    if not rows:
        raise AlloyError(
            expected="texts from the language model",
            got="only empty or repeated ones",
            hint="Raise `generation: {attempts: …}` or `{temperature: …}`, or take a larger language model.",
        )
    summary = {
        "texts": len(rows),
        "seconds": round(time.perf_counter() - begun, 1),
        "reads": sum(each.reads for each in written.values()),
        "teachers": {name: each.quality for name, each in written.items()},
    }
    write_json(folder / SUMMARY, summary)
    with library_bars_off():  # last: if this file exists, all files exist
        replace_atomic(target, lambda part: datasets.Dataset.from_list(rows).to_parquet(str(part)))
    return target


def check_generation(infos: Sequence[TeacherInfo], options: GenerationOptions) -> None:
    """AlloyError for teachers that cannot judge generated texts, and for the description of a label that no teacher has."""
    for info in infos:
        if info.gives.multi_label:
            raise AlloyError(
                expected="teachers whose labels exclude each other, to generate texts",
                got=f"teacher '{info.name}' with a multi-label head",
                hint="Take `texts:` from a file for multi-label teachers.",
            )
        if not info.gives.new_texts:
            raise AlloyError(
                expected="teachers that answer new texts, to steer a language model",
                got=f"teacher '{info.name}', which has stored answers",
                hint="Leave it out of the recipe that generates texts.",
            )
    known = list(dict.fromkeys(label for info in infos for label in info.labels))
    for label in options.descriptions:
        if label not in known:
            raise unknown_name("labels of the teachers in `generation: {descriptions: …}`", label, known)


@dataclass(frozen=True)
class _Written:
    """One teacher's texts as rows of the file, the number of its reads, and the quality of the texts."""

    rows: list[dict[str, Any]]
    reads: int
    quality: dict[str, Any]


def _of_teacher(
    info: TeacherInfo, names: Sequence[str], by_label: Sequence[tuple[list[GeneratedText], int]], per_class: int
) -> _Written:
    """What was written for one teacher. names: its labels' names in the union. by_label: the texts and the teacher's reads."""
    name_of = dict(zip(info.labels, names, strict=True))
    texts, rows, control_by_label = list[GeneratedText](), list[dict[str, Any]](), {}
    for label, (of_label, _) in zip(info.labels, by_label, strict=True):
        texts += of_label
        rows += [t.row() | {"label": name_of[t.label], "predicted": name_of[t.predicted]} for t in of_label]
        control_by_label[name_of[label]] = control = text_quality(of_label)["control"]
        if len(of_label) < per_class:
            warn_line(f"{info.name}, {label}: only {len(of_label)} of {per_class} texts are different and not empty")
        log_line(
            f"{info.name}, {label}: {counted(len(of_label), 'text')}, {100 * control:.0f} % of them {label} to the teacher"
        )
    reads = sum(asked for _, asked in by_label)
    return _Written(rows, reads, text_quality(texts) | {"control_by_label": control_by_label})


def _texts_by_label(
    infos: Sequence[TeacherInfo], options: GenerationOptions, folder: Path, work: _Work
) -> list[list[tuple[list[GeneratedText], int]]]:
    """Write batches until every label has enough different texts, or the attempts are used up. Returns by teacher and label the texts and
    the teacher's reads.

    All batches that are certainly needed are written together, by whoever is free. Which these are does not depend on who writes them.
    """
    most = -(-options.attempts * options.per_class // options.batch_size)
    while True:
        found = [_Collected(info, options, folder, most) for info in infos]
        places = [place for one in found for place in one.missing]
        if not places:
            return [one.by_label for one in found]
        jobs = [place.job(options.batch_size) for place in places]
        for n, (identity, batch) in work.engine.run(jobs, work.maker, "generate", "texts"):
            _check_made(folder / "batches" / places[n].info.name, identity)
            write_json(_path(folder, places[n]), asdict(batch))


class _Collected:
    """What there is of one teacher's texts. `by_label`: the texts and the reads. `missing`: batches that are needed in any case: as many as
    would be enough if all of their texts could be used."""

    def __init__(self, info: TeacherInfo, options: GenerationOptions, folder: Path, most: int) -> None:
        self.by_label, self.missing, seen = list[tuple[list[GeneratedText], int]](), list[BatchPlace](), set[str]()
        for label in range(len(info.labels)):
            kept, reads, absent = list[GeneratedText](), 0, list[BatchPlace]()
            for number in range(most):
                place = BatchPlace(info, label, number)
                if len(kept) + len(absent) * options.batch_size >= options.per_class:
                    break
                path = _path(folder, place)
                if not path.exists():
                    absent.append(place)
                    continue
                batch = _read_batch(path)
                reads += batch.reads
                kept += list(_new_texts(batch.texts, seen))[: options.per_class - len(kept)]
            self.by_label.append((kept, reads))
            self.missing += absent


def _path(folder: Path, place: BatchPlace) -> Path:
    return folder / "batches" / place.info.name / f"{place.label:03d}-{place.number:05d}.json"


def _read_batch(path: Path) -> BatchOfTexts:
    """A batch from an earlier run. AlloyError if it is damaged."""
    try:
        return _BATCH.validate_json(path.read_bytes(), strict=True)
    except (OSError, ValidationError) as error:
        raise AlloyError(
            expected=f"a batch of texts in {path}", got="a damaged file", hint="Delete it: it is written again."
        ) from error


def _new_texts(batch: Sequence[GeneratedText], seen: set[str]) -> Iterator[GeneratedText]:
    """Texts that are not empty and differ from earlier ones by more than case and spaces."""
    for text in batch:
        mark = re.sub(r"\s+", " ", text.text).strip().casefold()
        if mark and mark not in seen:
            seen.add(mark)
            yield text


def _complete(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the defaults of the options that an earlier version did not have."""
    options = record.get("options")
    return record | {"options": with_defaults_of(GenerationOptions, options)} if isinstance(options, dict) else record


def _check_made(folder: Path, made_of: dict[str, Any]) -> None:
    """AlloyError if the folder holds texts that were made with other settings."""
    expected = f"the settings that made the texts in {folder}"
    check_made(folder / MADE_OF, made_of, complete=_complete, expected=expected)
    record_made(folder / MADE_OF, made_of)
