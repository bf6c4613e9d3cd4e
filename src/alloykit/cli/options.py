"""Arguments and options that several commands have in common."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from alloykit.cli.errors import be_verbose
from alloykit.paths import user_path
from alloykit.processes import launched
from alloykit.progress import set_quiet

if TYPE_CHECKING:
    from alloykit.recipe.questions import QuestionsRecipe
    from alloykit.recipe.read_recipe import AnyRecipe
    from alloykit.recipe.recipe import Recipe

RecipeFile = Annotated[Path, typer.Argument(help="A recipe: a YAML file.", metavar="RECIPE")]
Folder = Annotated[Path, typer.Argument(help="A run folder, or a model folder.", metavar="RUN")]
Cache = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="Store the teachers' outputs here instead of in the run folder, so that several runs can share them. A folder, or any fsspec path.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--override",
        "-o",
        metavar="KEY=VALUE",
        help="Change one value of the recipe, for example `-o training.epochs=5`. You can repeat it.",
    ),
]
TextColumn = Annotated[str, typer.Option(metavar="COLUMN", help="Column of the text.")]
LabelColumn = Annotated[str, typer.Option(metavar="COLUMN", help="Column of the label.")]
PairColumn = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the second text of a pair.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run Python code that comes with the models. Use it only if you have read this code.",
    ),
]
TrustPython = Annotated[
    bool,
    typer.Option(
        "--trust-python",
        help="Import the Python functions that the recipe names as teachers. Only for code that you trust.",
    ),
]
TrustUrl = Annotated[
    bool,
    typer.Option(
        "--trust-url",
        help="Send texts and keys to the services that the run's recipe names as teachers. Only if you know where they go.",
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What computes: local (this process), or ray (the workers of a Ray cluster). Or the recipe's block, such as '{name: ray, workers: 4}'.",
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace a student that another recipe made in this folder. The teachers' outputs are kept."
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print warnings of libraries, and the traceback of an error.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors, and no progress.")]


class Command(TyperCommand):
    """A command whose help shows our placeholders (KEY=VALUE, FILE), and no Python types such as list[Path]."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_placeholders(super().get_params(ctx))


class Group(TyperGroup):
    """The command `alloykit` itself; see `Command`."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_placeholders(super().get_params(ctx))


def _with_placeholders(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        placeholder = "" if parameter.param_type_name == "argument" else parameter.metavar or ""
        parameter.display_type_rich = functools.partial(_placeholder, placeholder)
    return parameters


def _placeholder(text: str, **_: Any) -> str:
    return text


def set_verbosity(verbose: bool, quiet: bool) -> None:
    """Apply `-v` and `-q`. BadParameter for both at once."""
    if verbose and quiet:
        raise typer.BadParameter("give --verbose or --quiet, not both")
    if verbose:
        be_verbose()
    if quiet:
        set_quiet(True, warnings=not launched()[0])


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer reads it: a parameter that is a dataclass becomes one option for each field, and `-v` and `-q` come last."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.signature(function, eval_str=True)
    groups: dict[str, Any] = {p.name: p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)}
    parameters = [
        parameter
        for p in signature.parameters.values()
        for parameter in (_fields(groups[p.name]) if p.name in groups else [p])
    ]
    parameters += [
        inspect.Parameter("verbose", keyword, default=False, annotation=Verbose),
        inspect.Parameter("quiet", keyword, default=False, annotation=Quiet),
    ]

    @functools.wraps(function)
    def command(*, verbose: bool = False, quiet: bool = False, **arguments: Any) -> None:
        set_verbosity(verbose, quiet)
        arguments = {name: _at_home(value) for name, value in arguments.items()}
        grouped = {
            name: group(**{field.name: arguments.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        function(**grouped, **arguments)

    del command.__wrapped__  # type: ignore[attr-defined]  # typer would read the signature behind it
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _at_home(value: Any) -> Any:
    """Paths with the home folder instead of `~`, which the shell leaves in quotes and after `=`; anything else as it is."""
    if isinstance(value, list):
        return [_at_home(item) for item in value]
    return user_path(value) if isinstance(value, Path) else value


def _fields(group: Any) -> list[inspect.Parameter]:
    """The fields of a dataclass as parameters of a function."""
    annotations = get_type_hints(group, include_extras=True)
    kind, required = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return [
        inspect.Parameter(
            field.name,
            kind,
            default=required if field.default is MISSING else field.default,
            annotation=annotations[field.name],
        )
        for field in fields(group)
    ]


@dataclass(frozen=True)
class RecipeRun:
    """The options of the commands in which teachers read texts: `amalgamate`, `distill`, `sweep`."""

    recipe: RecipeFile
    override: Overrides = None
    cache: Cache = None
    engine: EngineName = None
    trust_python: TrustPython = False

    @contextmanager
    def read_amalgamation(self) -> Iterator[Recipe | QuestionsRecipe]:
        """The same for a recipe with `teachers:` or with `questions:`."""
        from alloykit.recipe.questions import read_amalgamation
        from alloykit.teachers.trust import python_trusted

        with python_trusted(self.trust_python):
            yield read_amalgamation(self.recipe, self._overrides)

    @property
    def _overrides(self) -> list[str]:
        if self.engine is None:
            return list(self.override or [])
        key = "engine" if self.engine.startswith("{") else "engine.name"
        return [*(self.override or []), f"{key}={self.engine}"]

    @contextmanager
    def read(self, kind: type[AnyRecipe]) -> Iterator[AnyRecipe]:
        """The checked recipe. While the block runs, its Python functions may be imported if the user trusts them. AlloyError."""
        from alloykit.recipe.read_recipe import read_recipe
        from alloykit.teachers.trust import python_trusted

        with python_trusted(self.trust_python):
            yield read_recipe(self.recipe, kind, self._overrides)
