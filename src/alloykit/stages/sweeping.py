"""`sweep`: compute only the teachers' outputs, in advance or on several machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from alloykit.data import Texts
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.paths import user_path
from alloykit.progress import log_line, logged_to, warn_line
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import CACHE, LOG
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import check_run_folder
from alloykit.stages.distill_hint import distill_hints
from alloykit.stages.prepare import prepare, with_labelled_texts
from alloykit.stages.prepare_questions import folder_of_cache, of_question


def sweep_recipe(
    recipe: Recipe,
    *,
    tables: Mapping[str, Texts] | None = None,
    cache: str | Path | None = None,
    part: tuple[int, int] = (0, 1),
) -> str:
    """Compute the outputs of a recipe's teachers for its texts. Returns the store's folder or URL.

    tables: texts in memory, by the keys of the recipe. part (i, n): only every n-th shard from the i-th. AlloyError.
    """
    own = nullcontext() if cache is not None else _own_folder(Path(recipe.output), part)
    with own, _logged(cache or Path(recipe.output) / CACHE, part):
        prepared = with_labelled_texts(prepare(recipe, (tables or {}).get("texts")), tables)
        for hint in distill_hints(prepared):
            warn_line(hint)
        store = prepared.store(cache)
        sweep(prepared.infos, prepared.texts, store, prepared.sweep_options(part))
        log_line(f"cached outputs are in {store.storage.url}")
    return str(store.storage.url)


def sweep_questions(
    recipe: QuestionsRecipe,
    *,
    cache: str | Path | None,
    part: tuple[int, int],
) -> dict[str, str]:
    """`sweep_recipe` for every question of a recipe. Returns the store's folder or URL by question. Arguments and AlloyError as there."""
    found = {}
    for name in recipe.questions:
        log_line(f"question '{name}'")
        with of_question(name):
            place = folder_of_cache(cache, name)
            found[name] = sweep_recipe(recipe.question(name), cache=place, part=part)
    return found


def _logged(place: str | Path, part: tuple[int, int]) -> AbstractContextManager[None]:
    """A log beside the outputs, one for each part. Remote outputs have none: nothing can be appended to a file there."""
    if "://" in str(place):
        return nullcontext()
    name = LOG if part[1] == 1 else f"run-{part[0] + 1}-of-{part[1]}.log"
    return logged_to(user_path(place) / name, "manifest.json")


@contextmanager
def _own_folder(folder: Path, part: tuple[int, int]) -> Iterator[None]:
    """Lock the recipe's output folder; only other parts may share it. Nothing is written to it if the outputs are stored elsewhere."""
    check_run_folder(folder)
    with locked(folder, part):
        yield
