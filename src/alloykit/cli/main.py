"""The command line. Torch is imported inside commands only, so that help answers at once."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from alloykit import terminal
from alloykit.cli.app import app, command, show_run
from alloykit.cli.errors import INTERRUPTED, exit_codes
from alloykit.cli.options import (
    AsJson,
    Cache,
    EngineName,
    Folder,
    LabelColumn,
    Overrides,
    Overwrite,
    PairColumn,
    RecipeFile,
    RecipeRun,
    TextColumn,
    Trust,
    TrustPython,
    TrustUrl,
)
from alloykit.errors import AlloyError
from alloykit.interrupts import ignore_interrupts_at_exit, noted_interrupts
from alloykit.processes import launched
from alloykit.progress import set_quiet


@command
def demo(
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the run.")] = Path("runs/demo"),
) -> None:
    """Run the built-in example: three teams' classifiers become one. It needs no network, and no data of yours."""
    from alloykit.demo.run import demo as run

    run(output)


@command
def init(
    teacher: Annotated[
        list[str],
        typer.Option(metavar="MODEL", help="A teacher: a folder or a hub id. Repeat the option for each teacher."),
    ],
    texts: Annotated[str, typer.Option(metavar="FILE", help="The unlabelled texts: a file, a folder or a hub id.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the recipe.")] = Path("recipe.yaml"),
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The method; `alloykit methods` lists them. Default: alloy.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that exists.")] = False,
) -> None:
    """Write a first recipe for your teachers and texts, with comments. It loads no model weights."""
    from alloykit.commands.init import init as job

    terminal.echo(f"recipe: {job(teacher, texts, output=output, method=method, overwrite=overwrite)}")


@command
def amalgamate(options: RecipeRun, overwrite: Overwrite = False) -> None:
    """Distil teachers with different labels into one student, with unlabelled texts. The main command."""
    from alloykit.recipe.questions import QuestionsRecipe
    from alloykit.stages.amalgamation import run_recipe
    from alloykit.stages.questions_run import run_questions

    with options.read_amalgamation() as recipe:
        if isinstance(recipe, QuestionsRecipe):
            run = run_questions(recipe, cache=options.cache, overwrite=overwrite)
        else:
            run = run_recipe(recipe, cache=options.cache, overwrite=overwrite)
    show_run(run)


@command
def distill(options: RecipeRun, overwrite: Overwrite = False) -> None:
    """Distil teachers with the same labels into one fast student, with labelled texts."""
    from alloykit.recipe.recipe import DistillRecipe
    from alloykit.stages.distillation import distill_recipe

    with options.read(DistillRecipe) as recipe:
        run = distill_recipe(recipe, cache=options.cache, overwrite=overwrite)
    show_run(run)


@command
def teach(
    recipe: RecipeFile,
    override: Overrides = None,
    together: Annotated[
        bool, typer.Option("--together", help="Fine-tune several encoders (`models:`) at once, under one shared head.")
    ] = False,
) -> None:
    """Fine-tune a teacher on labelled texts, with all labels or some of them."""
    from alloykit.recipe.read_recipe import read_recipe
    from alloykit.recipe.teacher_recipes import TeachRecipe, TogetherRecipe

    if together:
        from alloykit.teaching.teach_recipes import teach_together_recipe

        for folder in teach_together_recipe(read_recipe(recipe, TogetherRecipe, override)):
            terminal.echo(f"teacher: {folder}")
        return
    from alloykit.teaching.teach_recipes import teach_recipe

    terminal.echo(f"teacher: {teach_recipe(read_recipe(recipe, TeachRecipe, override))}")


@command
def generate(
    recipe: RecipeFile, override: Overrides = None, engine: EngineName = None, trust_python: TrustPython = False
) -> None:
    """Let a language model write texts for every label of every teacher."""
    from alloykit.recipe.generate_recipe import GenerateRecipe
    from alloykit.stages.generated_texts import generate_recipe

    options = RecipeRun(recipe, override, engine=engine, trust_python=trust_python)
    with options.read(GenerateRecipe) as checked:
        terminal.echo(f"texts: {generate_recipe(checked)}")


@command
def sweep(
    options: RecipeRun,
    part: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Compute only one of N parts, such as 1/4. Use it to share the work among several machines.",
        ),
    ] = "1/1",
) -> None:
    """Compute only the teachers' outputs, and store them for later runs."""
    from alloykit.recipe.questions import QuestionsRecipe
    from alloykit.stages.sweeping import sweep_questions, sweep_recipe

    with options.read_amalgamation() as recipe:
        if isinstance(recipe, QuestionsRecipe):
            sweep_questions(recipe, cache=options.cache, part=_part(part))
        else:
            sweep_recipe(recipe, cache=options.cache, part=_part(part))


@command
def plan(
    recipe: RecipeFile,
    override: Overrides = None,
    probe: Annotated[bool, typer.Option(help="Let every model read a few batches, to predict the time.")] = True,
    trust_python: TrustPython = False,
    as_json: AsJson = False,
) -> None:
    """Check a recipe and show what it would run: labels, passes, disk space and time. It writes nothing."""
    from alloykit.cli.listings import plan_lines, questions_plan_lines
    from alloykit.planning.plan_run import plan_recipe, plan_several
    from alloykit.recipe.questions import QuestionsRecipe, read_amalgamation
    from alloykit.teachers.trust import python_trusted

    with python_trusted(trust_python):
        checked = read_amalgamation(recipe, override)
        several = isinstance(checked, QuestionsRecipe)
        found = (
            plan_several(checked, probe=probe)
            if isinstance(checked, QuestionsRecipe)
            else plan_recipe(checked, probe=probe)
        )
    if as_json:
        terminal.echo_json(found)
    else:
        terminal.echo_lines(questions_plan_lines(found) if several else plan_lines(found))


@command
def doctor(
    recipe: Annotated[
        Path | None, typer.Argument(help="A recipe: a YAML file. Without it, only the machine is checked.")
    ] = None,
    override: Overrides = None,
    cache: Cache = None,
    probe: Annotated[bool, typer.Option(help="Let every model read a few batches, to predict the time.")] = True,
    trust_python: TrustPython = False,
    as_json: AsJson = False,
) -> None:
    """Check this machine, and the teachers and texts of a recipe. It says what to do about problems, and writes nothing.

    The exit code is 2 if the recipe cannot run.
    """
    from alloykit.cli.listings import doctor_lines
    from alloykit.planning.examine import examine
    from alloykit.teachers.trust import python_trusted

    with python_trusted(trust_python):
        found = examine(recipe, override, cache=cache, probe=probe)
    if as_json:
        terminal.echo_json(found)
    else:
        terminal.echo_lines(doctor_lines(found))
    if not found["can_run"]:
        raise typer.Exit(2)


@command
def evaluate(
    run: Folder,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled texts. Default: those of the recipe.")
    ] = None,
    text: TextColumn = "text",
    label: LabelColumn = "label",
    text_pair: PairColumn = None,
    cache: Cache = None,
    engine: EngineName = None,
    trust: Trust = False,
    trust_python: TrustPython = False,
    trust_url: TrustUrl = False,
    as_json: AsJson = False,
) -> None:
    """Measure the accuracy of teachers, ensemble, routing and student on labelled texts."""
    from alloykit.commands.evaluate import evaluate as job
    from alloykit.evaluation.score_table import score_table

    result = job(
        run, data, text=text, label=label, text_pair=text_pair, cache=cache, engine=engine, trust_remote_code=trust,
        trust_python=trust_python, trust_url=trust_url,
    )  # fmt: skip
    if as_json:
        terminal.echo_json(result)
    elif "questions" in result:
        for name, found in result["questions"].items():
            terminal.echo(f"question {name}")
            terminal.echo_rich(score_table(found))
    else:
        terminal.echo_rich(score_table(result))


@command
def report(
    runs: Annotated[list[Path], typer.Argument(help="A run folder, or several to compare.", metavar="RUN")],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write. Default: report.html in the run folder, or comparison.html here."
        ),
    ] = None,
) -> None:
    """Write the report of a run, or a page that compares several runs."""
    from alloykit.commands.report import report as job

    terminal.echo(f"report: {job(runs, output)}")


from alloykit.cli import finished_runs  # noqa: E402, F401  its commands stand here in the help


@command
def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show this method's options and defaults.", metavar="METHOD")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all methods, or show one method's options."""
    from alloykit.cli.listings import method_details, method_table, method_view

    shown = method_details(name) if name else method_table()
    if as_json:
        terminal.echo_json(shown)
    else:
        terminal.echo_rich(method_view(shown))


class RecipeKind(StrEnum):
    """The kinds of recipes; recipe/schema.py has the same."""

    amalgamate = "amalgamate"
    distill = "distill"
    teach = "teach"
    together = "together"
    generate = "generate"
    questions = "questions"


@command
def schema(
    kind: Annotated[
        RecipeKind,
        typer.Argument(
            help="The kind of recipe, by its command: amalgamate, distill, teach, together (for `teach --together`) or generate; questions for `amalgamate` with `questions:`.",
            metavar="KIND",
        ),
    ] = RecipeKind.amalgamate,
) -> None:
    """Print the JSON schema of a recipe, for editors. To use it, begin a recipe with `# yaml-language-server: $schema=FILE`."""
    from alloykit.recipe.schema import recipe_schema

    terminal.echo_json(recipe_schema(kind.value))


def _part(text: str) -> tuple[int, int]:
    try:
        i, n = (int(number) for number in text.split("/"))
    except ValueError:
        i, n = 0, 0
    if not 1 <= i <= n:
        raise AlloyError(expected="--part like 1/4, from 1/4 to 4/4", got=repr(text), hint="")
    return i - 1, n


def set_environment() -> None:
    """What libraries read when they are imported. A variable that the user has set stays as it is."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if "OMP_WAIT_POLICY" not in os.environ:
        # Threads that wait for each other sleep sooner. Beside other busy programs training is 1.4 times as fast with this, alone as fast as
        # without (`python -m benchmarks speed busy`).
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")


def main() -> None:
    """Entry point of the `alloykit` command."""
    set_environment()
    terminal.open_streams()
    first = not launched()[0]
    set_quiet(not first, warnings=first)
    try:
        with exit_codes(), noted_interrupts(processes=launched()[1]):
            code = app(standalone_mode=False)  # not standalone, so that `exit_codes` gets the exceptions
            if code == INTERRUPTED:  # newer typer turns the interrupt into an exit code by itself
                raise KeyboardInterrupt
        sys.exit(code)
    finally:
        ignore_interrupts_at_exit()


if __name__ == "__main__":
    main()
