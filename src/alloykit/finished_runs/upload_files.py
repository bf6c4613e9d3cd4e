"""Which files of a run are uploaded, and their content without local paths."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alloykit.data import TextsOptions, TextsPlace
from alloykit.data.raw_tables import files_read
from alloykit.errors import AlloyError
from alloykit.escape import last_part, visible
from alloykit.file_errors import file_errors
from alloykit.files import is_left_over
from alloykit.knowledge.store.artifacts import recorded
from alloykit.methods.registry import create
from alloykit.models.checksums import CHECKSUMS
from alloykit.paths import user_path
from alloykit.recipe.recipe import Recipe
from alloykit.reporting import page
from alloykit.run_folder.file_names import CACHE, EXPORT, GENERATED, INPUTS, LOG
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.recipe_texts import read, wants_labels
from alloykit.stages.student_card import student_card

CARD = "README.md"
OUTPUTS, TEXTS = "outputs", "texts"  # folders of the repository
_ABSOLUTE = re.compile(r"(/|~[\w.-]*/|[A-Za-z]:[\\/]|\\\\)\S")
_LABELS = ("id2label", "label2id")


@dataclass(frozen=True)
class Upload:
    """One file: its path in the repository, and its content: a file, or bytes."""

    path: str
    content: Path | bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


def upload_files(
    run: RunFolder,
    place: str,
    *,
    licence: str | None,
    languages: Sequence[str],
    with_cache: bool,
    with_texts: bool,
) -> list[Upload]:
    """The card, the student and its ONNX export if there is one; with_cache: the teachers' outputs; with_texts: the texts of the pool.

    place: the repository. licence, languages: as in `card.card`. AlloyError for an unfinished run, and for files that are asked for and
    are not there.
    """
    view = page.load(run.folder)
    if not run.has_student or not view["metrics"]:
        raise AlloyError(
            expected=f"a finished run with a student in '{run.folder}'",
            got="none",
            hint="Finish the run with `alloykit amalgamate`.",
        )
    recipe = run.recipe
    card = _without_paths(
        student_card(run, view, place=place, licence=licence, languages=languages), _private(recipe, run)
    )
    found = {CARD: Upload(CARD, card.encode())}
    with file_errors(run.folder):
        sources = [("", run.student), ("onnx/", run.folder / EXPORT)]
        for prefix, folder in sources:
            for path in _files(folder, run.folder):
                if prefix and path.name == CHECKSUMS:
                    continue  # the names in it are those of the export's own folder, and the hub has checksums
                name = prefix + path.relative_to(folder).as_posix().removeprefix(prefix or "/")
                found.setdefault(name, Upload(name, _clean_json(path) if path.suffix == ".json" else path))
        for upload in (*(_outputs(run) if with_cache else ()), *(_texts(run, recipe) if with_texts else ())):
            if upload.path in found:
                raise AlloyError(
                    expected="files with different names to upload",
                    got=f"'{upload.content}' and another file, both as {upload.path}",
                    hint="Rename one of them, also in the recipe.",
                )
            found[upload.path] = upload
    return list(found.values())


def _files(folder: Path, within: Path) -> list[Path]:
    """All files below a folder, without hidden ones and without unfinished ones. within: the folder that the user named. AlloyError for a link that
    leads out of it: a run that comes from somebody else must not make a private file public."""
    every = (p for p in sorted(folder.rglob("*")) if p.is_file() and not is_left_over(p.name))
    found = [p for p in every if not any(part.startswith(".") for part in p.relative_to(folder).parts)]
    for path in found:
        if not path.resolve().is_relative_to(within.resolve()):
            raise AlloyError(
                expected=f"only files of {within} to upload",
                got=f"'{visible(path)[:300]}', a link to '{visible(path.resolve())[:300]}'",
                hint="Remove the link, or put the file itself in its place.",
            )
    return found


def _outputs(run: RunFolder) -> Iterator[Upload]:
    """The store of the teachers' outputs, without its log and without `fingerprint-….json`, which names local folders."""
    folder = run.folder / CACHE
    if not (folder / "manifest.json").is_file():
        raise AlloyError(
            expected=f"the teachers' outputs in {folder}, for --with-cache",
            got="none",
            hint="Leave out --with-cache. Outputs that `--cache` keeps in another place are not uploaded.",
        )
    for path in _files(folder, run.folder):
        if path.relative_to(folder).parts[0] == "own":
            continue  # answers that a teacher keeps for itself; finished ones are in the store
        if path.name != LOG and not path.name.startswith(("fingerprint-", "run-")):
            yield Upload(f"{OUTPUTS}/{path.relative_to(folder).as_posix()}", path)


def _texts(run: RunFolder, recipe: Recipe) -> Iterator[Upload]:
    """The files of the pool, and the generated texts. Of equal names all but the first get a number."""
    places = [recipe.texts, *(recipe.texts.more or ())] if isinstance(recipe.texts, TextsOptions) else []
    named = [place for place in places if place.path is not None]
    sources = {source.resolve(): (source, place) for place in named for source in [user_path(str(place.path))]}
    generated = run.folder / GENERATED
    if not (sources or generated.is_dir()) or not all(source.exists() for source, _ in sources.values()):
        raise AlloyError(
            expected="the files of the run's texts, for --with-texts",
            got=f"'{next(iter(sources.values()))[0]}', which does not exist"
            if sources
            else "texts that are in no local file",
            hint="Leave out --with-texts. The card names a data set of the hub by its id.",
        )
    if sources:
        _refuse_other_texts(run, recipe, named)
    names = dict[str, int]()
    for source, place in sources.values():
        names[source.name] = count = names.get(source.name, 0) + 1
        name = source.name if count == 1 else f"{count}-{source.name}"
        known = set(files_read(source, place))
        for path in [p for p in _files(source, source) if p in known] if source.is_dir() else [source]:
            inside = "" if path == source else f"/{path.relative_to(source).as_posix()}"
            yield Upload(f"{TEXTS}/{name}{inside}", path)
    for path in _files(generated, run.folder) if generated.is_dir() else ():
        if path.name != LOG:
            yield Upload(f"{TEXTS}/{GENERATED}/{path.relative_to(generated).as_posix()}", path)


def _refuse_other_texts(run: RunFolder, recipe: Recipe, named: Sequence[TextsPlace]) -> None:
    """AlloyError unless these files have the texts that the run read, all of them and no others: a recipe that comes from somebody else may name
    a private file of this machine."""
    expected = f"the files that {run.folder} read, for --with-texts"
    paths = ", ".join(f"'{visible(place.path)[:200]}'" for place in named)
    if any(place.limit is not None for place in named):
        raise AlloyError(
            expected=expected,
            got=f"{paths}, of which the run read only the first rows (`limit`)",
            hint="Leave out --with-texts, and upload a file with these rows yourself.",
        )
    read_again = read(recipe.texts, want_labels=wants_labels(recipe, create(recipe.method)))  # type: ignore[arg-type]
    if recorded(run.folder / INPUTS).get("texts") != read_again.fingerprint():
        raise AlloyError(
            expected=expected,
            got=f"other texts in {paths}",
            hint="Put the files back as they were. If this run is somebody else's, its recipe names files of yours: leave out --with-texts.",
        )


def _clean_json(path: Path) -> Path | bytes:
    """A JSON file, or, if it names absolute paths, its content with their last parts only."""
    if path.name in ("tokenizer.json", "vocab.json"):
        return path  # a vocabulary has no paths, but may have a word like /home
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise AlloyError(
            expected=f"valid JSON in {path}", got=str(error), hint="Restore the file, or train the student again."
        ) from error
    after = _clean(before)
    return path if after == before else (json.dumps(after, indent=2, ensure_ascii=False) + "\n").encode()


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: inner if key in _LABELS else _clean(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return last_part(value) if isinstance(value, str) and _ABSOLUTE.match(value) else value


def _private(recipe: Recipe, run: RunFolder) -> list[str]:
    """The local paths that a warning of the run may quote, longest first."""

    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (dict, list)):
            for inner in value.values() if isinstance(value, dict) else value:
                yield from strings(inner)

    named = {s for s in strings(recipe.model_dump(mode="json")) if _ABSOLUTE.match(s)}
    here = {str(run.folder.resolve()), str(run.folder), os.getcwd(), str(Path.home())}
    return sorted((path for path in named | here if len(Path(path).parts) > 1), key=len, reverse=True)


def _without_paths(text: str, paths: Sequence[str]) -> str:
    for path in paths:
        text = re.sub(rf"{re.escape(path)}(?![\w-])", lambda _, path=path: last_part(path), text)  # type: ignore[misc]
    return text
