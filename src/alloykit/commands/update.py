"""Update a run with other teachers, more texts or some labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from alloykit.errors import AlloyError
from alloykit.finished_runs.run import Run
from alloykit.finished_runs.update_recipe import Changes
from alloykit.finished_runs.update_run import update_run
from alloykit.names import refuse_single, shown
from alloykit.run_folder.run_folder import RunFolder, folder_of
from alloykit.teachers.trust import python_trusted


def update(
    run: str | Path | RunFolder,
    *,
    add_teachers: Sequence[str | Path] = (),
    remove_teachers: Sequence[str] = (),
    replace_teachers: Mapping[str, str | Path] | None = None,
    add_texts: Sequence[str | Path] = (),
    labelled: Sequence[str | Path] = (),
    override: Sequence[str] = (),
    output: str | Path | None = None,
    cache: str | Path | None = None,
    overwrite: bool = False,
    trust_remote_code: bool = False,
    trust_python: bool = False,
    trust_url: bool = False,
) -> Run:
    """Make a new run from a finished one. The same as `alloykit update`, from Python. The finished run stays as it is.

    add_teachers: folders or hub ids. remove_teachers: names. replace_teachers: name → the new model. add_texts: files of further texts, with
    the columns of the run's texts. labelled: CSV files with the columns text and label, as `suggest` writes them. override: other changes of
    the recipe, such as "training.epochs=1". output: the new run folder; RUN-2 if not given. cache: where the teachers' outputs are, if not in
    the run folder. overwrite: replace the student of another recipe in the new folder. trust_remote_code: run code that comes with the models.
    trust_python: import the functions that the run's recipe names as teachers. trust_url: send texts and keys to the services that it names.

    Returns the new run. Its `changes.json` and `changes.html` compare the two students per label. A second call with the same arguments goes
    on where the first one stopped. AlloyError for invalid arguments.
    """
    for name, value in (("add_teachers", add_teachers), ("remove_teachers", remove_teachers), ("add_texts", add_texts), ("labelled", labelled), ("override", override)):  # fmt: skip
        refuse_single(value, name)
    if not isinstance(replace_teachers, Mapping | None):
        raise AlloyError(
            expected="a dictionary as `replace_teachers`",
            got=shown(replace_teachers),
            hint="For instance replace_teachers={'billing': 'teachers/billing-2'}.",
        )
    changes = Changes(
        tuple(map(str, add_teachers)),
        tuple(remove_teachers),
        {name: str(model) for name, model in (replace_teachers or {}).items()},
        tuple(map(str, add_texts)),
        tuple(map(str, labelled)),
        tuple(override),
    )
    with python_trusted(trust_python):
        new = update_run(
            RunFolder(folder_of(run)), changes, output=output, cache=cache, overwrite=overwrite,
            trust_remote_code=trust_remote_code, trust_url=trust_url,
        )  # fmt: skip
    return Run(new)
