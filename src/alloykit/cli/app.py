"""The typer application, and what every command has in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from alloykit import __version__, terminal
from alloykit.cli.options import (
    Command,
    Group,
    Quiet,
    Verbose,
    set_verbosity,
    with_options,
)
from alloykit.errors import AlloyError
from alloykit.processes import launched
from alloykit.run_folder.file_names import METRICS

TRAIN_TOGETHER = ("amalgamate", "distill")  # commands that several processes may run together

app = typer.Typer(
    name="alloykit",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        terminal.echo(f"alloykit {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Distil fine-tuned text classifiers with different labels into one small student."""
    set_verbosity(verbose, quiet)
    if (processes := launched()[1]) > 1 and context.invoked_subcommand not in TRAIN_TOGETHER:
        raise AlloyError(
            expected=f"one process for `alloykit {context.invoked_subcommand}`",
            got=f"{processes}, from `torchrun` or `accelerate launch`",
            hint=f"Only {' and '.join(f'`{name}`' for name in TRAIN_TOGETHER)} can use several processes. Start this command without the launcher.",
        )


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a command. Every command has `-v` and `-q`."""
    app.command(cls=Command)(with_options(function))
    return function


def show_run(run: Any) -> None:
    """Print the scores of a finished run, and where its files are. With several processes, only process 0 prints."""
    if launched()[0]:
        return
    from alloykit.evaluation.score_table import score_table

    for name, part in (run.questions or {"": run}).items():
        found = part.metrics.get("evaluation") or (part.metrics.get("multi_label") or {}).get("evaluation")
        if found:
            if name:
                terminal.echo(f"question {name}")
            terminal.echo_rich(score_table(found))
    terminal.echo(f"student: {run.student}" if run.has_student else f"results: {run.folder / METRICS}")
    terminal.echo(f"report: {run.report_page}")
