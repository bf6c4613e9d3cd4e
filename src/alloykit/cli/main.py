"""The command line. Torch is imported inside commands only, so that help answers at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from alloykit import terminal
from alloykit.cli.errors import explained
from alloykit.errors import AlloyError
from alloykit.escape import to_json
from alloykit.interrupts import heard

app = typer.Typer(
    name="alloykit",
    help="Melt fine-tuned text classifiers with different labels into one small student.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

RecipeFile = Annotated[Path, typer.Argument(help="A YAML recipe; see the README.", metavar="RECIPE")]
Folder = Annotated[Path, typer.Argument(help="A run folder, or a model folder.", metavar="RUN")]
Knowledge = Annotated[
    str | None, typer.Option(help="Keep the knowledge here (a folder or any fsspec path), to share it between runs.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the models. Only if you have read it.")
]
Overwrite = Annotated[bool, typer.Option(help="Replace the student of another recipe. Knowledge is kept.")]


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where to put the run.")] = Path("runs/demo"),
) -> None:
    """The embedded example: three teams' classifiers become one. Needs no network and no data."""
    from alloykit.demo.run import demo as run

    run(output)


@app.command()
def amalgamate(recipe: RecipeFile, knowledge: Knowledge = None, overwrite: Overwrite = False) -> None:
    """Teachers and unlabelled texts in, one student out. The main job."""
    from alloykit.recipe.models import Recipe, read_recipe
    from alloykit.stages.amalgamation import run_recipe

    _show(run_recipe(read_recipe(recipe, Recipe), knowledge=knowledge, overwrite=overwrite))


@app.command()
def distill(recipe: RecipeFile, knowledge: Knowledge = None, overwrite: Overwrite = False) -> None:
    """Teachers of one task and labelled texts in, one fast student out."""
    from alloykit.recipe.models import DistillRecipe, read_recipe
    from alloykit.stages.distillation import distill_recipe

    _show(distill_recipe(read_recipe(recipe, DistillRecipe), knowledge=knowledge, overwrite=overwrite))


@app.command()
def teach(
    recipe: RecipeFile,
    together: Annotated[
        bool, typer.Option("--together", help="Several `models:` at once, under one shared head.")
    ] = False,
) -> None:
    """Fine-tune a teacher on labelled texts of some labels."""
    from alloykit.recipe.models import TeachRecipe, TogetherRecipe, read_recipe

    if together:
        from alloykit.commands.teach_together import teach_together

        for folder in teach_together(read_recipe(recipe, TogetherRecipe)):
            terminal.echo(f"teacher: {folder}")
        return
    from alloykit.commands.teach import teach as run

    terminal.echo(f"teacher: {run(read_recipe(recipe, TeachRecipe))}")


@app.command()
def generate(recipe: RecipeFile) -> None:
    """Teachers and a language model in, texts for every class of every teacher out."""
    from alloykit.commands.generate import generate as run
    from alloykit.recipe.models import GenerateRecipe, read_recipe

    terminal.echo(f"texts: {run(read_recipe(recipe, GenerateRecipe))}")


@app.command()
def sweep(
    recipe: RecipeFile,
    knowledge: Knowledge = None,
    part: Annotated[
        str, typer.Option(help="'1/4': only the first of four parts, to spread a sweep over machines.")
    ] = "1/1",
) -> None:
    """Only the knowledge: let every teacher read every text, and keep what it says."""
    from alloykit.commands.sweep import sweep_recipe
    from alloykit.recipe.models import Recipe, read_recipe

    sweep_recipe(read_recipe(recipe, Recipe), knowledge=knowledge, part=_part(part))


@app.command()
def plan(
    recipe: RecipeFile,
    probe: Annotated[bool, typer.Option(help="Let every model read a few batches, to predict the time.")] = True,
    as_json: AsJson = False,
) -> None:
    """What a recipe would run: labels, passes, bytes, time. Writes nothing."""
    from alloykit.cli.listings import plan_lines
    from alloykit.commands.plan import plan as run
    from alloykit.recipe.models import Recipe, read_recipe

    found = run(read_recipe(recipe, Recipe), probe=probe)
    if as_json:
        terminal.echo_json(found)
    else:
        terminal.echo_lines(plan_lines(found))


@app.command()
def evaluate(
    run: Folder,
    data: Annotated[Path | None, typer.Option(help="Labelled texts; the recipe's own if not given.")] = None,
    text: Annotated[str, typer.Option(help="Column of the text.")] = "text",
    label: Annotated[str, typer.Option(help="Column of the label.")] = "label",
    text_pair: Annotated[str | None, typer.Option(help="Column of the second text of a pair.")] = None,
    knowledge: Knowledge = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Accuracy of teachers, ensemble, routing and student on labelled texts."""
    from alloykit.commands.evaluate import evaluate as job
    from alloykit.evaluation.score_table import score_table

    columns = {"text": text, "label": label, "text_pair": text_pair} if data is not None else {}
    result = job(run, data, knowledge=knowledge, trust_remote_code=trust, **columns)
    if as_json:
        terminal.echo_json(result)
    else:
        terminal.show(score_table(result))


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="A run folder, or several to compare.", metavar="RUN...")],
    output: Annotated[
        Path | None, typer.Option(help="Where to write; report.html in the run, or comparison.html here.")
    ] = None,
) -> None:
    """One page that says whether to trust a run's student; for several runs, one that compares them."""
    from alloykit.commands.report import report as job

    terminal.echo(f"report: {job(runs, output)}")


@app.command()
def predict(
    run: Folder,
    texts: Annotated[str, typer.Argument(help="A file of texts, or - for standard input (a text per line).")] = "-",
    every: Annotated[bool, typer.Option("--all", help="Give the probability of every label.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write here instead of standard output.")] = None,
    text: Annotated[str, typer.Option(help="Column of the text.")] = "text",
    text_pair: Annotated[str | None, typer.Option(help="Column of the second text of a pair.")] = None,
    trust: Trust = False,
) -> None:
    """Answer texts with the student: one JSON line per input row, in order."""
    from alloykit.commands.predict import predict as job
    from alloykit.files import write_output
    from alloykit.stages.output_folder import check_file

    source = texts if texts != "-" else sys.stdin
    if source is None:
        raise AlloyError(expected="texts on standard input", got="a closed one", hint="Pipe texts, or name a file.")
    if output is not None:
        check_file(output)
    answers = job(
        run, source, all_probabilities=every, text=text, text_pair=text_pair, trust_remote_code=trust
    )  # fmt: skip
    lines = (f"{to_json(answer)}\n" for answer in answers)
    if output is not None:
        write_output(output, "".join(lines))
    else:
        for line in lines:
            terminal.write(line)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="Show this method's options and defaults.")] = None,
    as_json: AsJson = False,
) -> None:
    """Every method: what it is, what it needs, its options."""
    from alloykit.cli.listings import method_details, method_table, method_view

    shown = method_details(name) if name else method_table()
    if as_json:
        terminal.echo_json(shown)
    else:
        terminal.show(method_view(shown))


def _show(run: Any) -> None:
    """A finished run: its scores, and where things are."""
    from alloykit.evaluation.score_table import score_table

    if "evaluation" in run.metrics:
        terminal.show(score_table(run.metrics["evaluation"]))
    terminal.echo(f"student: {run.student}" if run.has_student else f"results: {run.folder / 'metrics.json'}")
    terminal.echo(f"report: {run.report}")


def _part(text: str) -> tuple[int, int]:
    try:
        i, n = (int(number) for number in text.split("/"))
    except ValueError:
        i, n = 0, 0
    if not 1 <= i <= n:
        raise AlloyError(expected="--part like 1/4, from 1/4 to 4/4", got=repr(text), hint="")
    return i - 1, n


def main() -> None:
    """Entry point of the `alloykit` command."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    terminal.open_streams()
    with explained(), heard():
        code = app(standalone_mode=False)  # not standalone, so that an interrupt is ours to explain
        if code == 130:  # newer typer turns the interrupt into an exit code by itself
            raise KeyboardInterrupt
    sys.exit(code)


if __name__ == "__main__":
    main()
