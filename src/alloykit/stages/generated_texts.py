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

from alloykit.errors import AlloyError
from alloykit.files import replace_atomic, write_json
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.quality import text_quality
from alloykit.generation.writer import TOKENS_PER_BATCH, GeneratedText, Writer
from alloykit.knowledge.store.artifacts import check_made, record_made, with_defaults_of
from alloykit.models.device import pick_device
from alloykit.models.location import model_identity
from alloykit.progress import bar, library_bars_off, log_line, logged_to
from alloykit.recipe.models import GenerateRecipe, LabelOptions
from alloykit.run_folder.file_names import LOG, SUMMARY
from alloykit.run_folder.lock import locked
from alloykit.run_folder.output_folder import refuse_others
from alloykit.stages.prepare import teachers_and_labels
from alloykit.stages.recipe_texts import TEXTS_FILE
from alloykit.teachers.mc_dropout import key
from alloykit.teachers.protocol import Answerer, Reading, TeacherInfo, TeacherSpec

MADE_OF = "made_of.json"


@dataclass(frozen=True)
class Batch:
    """A finished batch, in its own file. `reads`: how many texts the teacher has read to steer it."""

    reads: int
    texts: list[GeneratedText]


_BATCH = TypeAdapter(Batch)


def generate_recipe(recipe: GenerateRecipe) -> Path:
    """Write `texts.parquet` (text, label, teacher, confidence, predicted, perplexity) and return its path. AlloyError."""
    folder = Path(recipe.output)
    with logged_to(folder / LOG, MADE_OF):
        return write_texts(
            recipe.teachers, recipe.labels, recipe.generation, folder,
            device=pick_device(recipe.device), max_length=recipe.max_length,
        )  # fmt: skip


def write_texts(
    teachers: Sequence[TeacherSpec],
    labels: LabelOptions,
    options: GenerationOptions,
    folder: Path,
    *,
    device: str,
    max_length: int,
) -> Path:
    """`generate_recipe` without a recipe. Finished batches in `folder` are reused."""
    refuse_others(folder, MADE_OF)
    with locked(folder):
        return _write_texts(teachers, labels, options, folder, device, max_length)


def _write_texts(
    teachers: Sequence[TeacherSpec],
    labels: LabelOptions,
    options: GenerationOptions,
    folder: Path,
    device: str,
    max_length: int,
) -> Path:
    infos, space = teachers_and_labels(teachers, labels)
    _check_teachers(infos)
    _check_made(
        folder,
        {
            "options": options.model_dump(mode="json"),
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
    begun, writer = time.perf_counter(), Writer(options, device)
    reading = Reading(max_length=max_length, device=device, tokens_per_batch=TOKENS_PER_BATCH)
    # One teacher at a time: it does not read the texts of others.
    written = {
        info.name: _of_teacher(writer, info, names, reading, folder / "batches" / info.name)
        for info, names in zip(infos, space.teachers, strict=True)
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


def _check_teachers(infos: Sequence[TeacherInfo]) -> None:
    """AlloyError for teachers that cannot steer a language model."""
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


@dataclass(frozen=True)
class _Written:
    """One teacher's texts as rows of the file, the number of its reads, and the quality of the texts."""

    rows: list[dict[str, Any]]
    reads: int
    quality: dict[str, Any]


def _of_teacher(writer: Writer, info: TeacherInfo, names: Sequence[str], reading: Reading, place: Path) -> _Written:
    """Texts for every label of one teacher. names: its labels' names in the union. place: the folder of its finished batches."""
    teacher = info.load(reading)
    _check_made(place, _identity_of(teacher))
    name_of = dict(zip(info.labels, names, strict=True))
    texts, rows, control_by_label, reads = list[GeneratedText](), list[dict[str, Any]](), {}, 0
    seen = set[str]()
    for label in info.labels:
        of_label, asked = _for_class(writer, teacher, label, place, seen)
        reads += asked
        texts += of_label
        rows += [t.row() | {"label": name_of[t.label], "predicted": name_of[t.predicted]} for t in of_label]
        control_by_label[name_of[label]] = control = text_quality(of_label)["control"]
        log_line(f"{info.name}, {label}: {len(of_label)} texts, {100 * control:.0f} % of them {label} to the teacher")
    return _Written(rows, reads, text_quality(texts) | {"control_by_label": control_by_label})


def _identity_of(teacher: Answerer) -> dict[str, Any]:
    """What the texts that a teacher steered depend on: of a model its weights and its tokenizer."""
    made_of = teacher.made_of
    return {key: made_of[key] for key in ("weights", "tokenizer", "identity") if key in made_of}


def _for_class(
    writer: Writer, teacher: Answerer, label: str, folder: Path, seen: set[str]
) -> tuple[list[GeneratedText], int]:
    """Write batches until there are enough different texts, or the attempts are used up. Returns the texts and the teacher's reads."""
    options, kept, reads = writer.options, list[GeneratedText](), 0
    place = teacher.info.labels.index(label)
    most = -(-options.attempts * options.per_class // options.batch_size)
    with bar(f"{teacher.info.name}: {label}", options.per_class) as advance:
        for number in range(most):
            path = folder / f"{place:03d}-{number:05d}.json"
            if not path.exists():
                before = writer.reads
                texts = writer.write(
                    teacher, label, options.batch_size, key(options.seed, teacher.info.name, place, number)
                )
                write_json(path, asdict(Batch(writer.reads - before, texts)))
            batch = _read_batch(path)
            reads += batch.reads
            fresh = list(_new_texts(batch.texts, seen))[: options.per_class - len(kept)]
            kept += fresh
            advance(len(fresh))
            if len(kept) == options.per_class:
                break
    if len(kept) < options.per_class:
        log_line(
            f"warning: {teacher.info.name}, {label}: only {len(kept)} of {options.per_class} texts are different and not empty"
        )
    return kept, reads


def _read_batch(path: Path) -> Batch:
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
    check_made(
        folder / MADE_OF,
        made_of,
        complete=_complete,
        expected=f"the settings that made the texts in {folder}",
        hint="Choose another output or remove the folder.",
    )
    record_made(folder / MADE_OF, made_of)
