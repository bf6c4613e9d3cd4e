"""The command line. Torch is imported inside commands only, so that help answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from alloykit import __version__, terminal
from alloykit.cli.errors import INTERRUPTED, exit_codes
from alloykit.cli.options import (
    AsJson,
    Cache,
    Command,
    EngineName,
    Folder,
    Group,
    LabelColumn,
    Overrides,
    Overwrite,
    PairColumn,
    Quiet,
    RecipeFile,
    TextColumn,
    Trust,
    TrustPython,
    Verbose,
    set_verbosity,
    with_engine,
    with_verbosity,
)
from alloykit.errors import AlloyError
from alloykit.escape import to_json
from alloykit.interrupts import noted_interrupts
from alloykit.processes import launched
from alloykit.progress import set_quiet

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
    app.command(cls=Command)(with_verbosity(function))
    return function


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
def amalgamate(
    recipe: RecipeFile,
    override: Overrides = None,
    cache: Cache = None,
    engine: EngineName = None,
    overwrite: Overwrite = False,
    trust_python: TrustPython = False,
) -> None:
    """Distil teachers with different labels into one student, with unlabelled texts. The main command."""
    from alloykit.recipe.models import Recipe, read_recipe
    from alloykit.stages.amalgamation import run_recipe
    from alloykit.teachers.trust import python_trusted

    with python_trusted(trust_python):
        checked = read_recipe(recipe, Recipe, with_engine(override, engine))
        run = run_recipe(checked, cache=cache, overwrite=overwrite)
    _show(run)


@command
def distill(
    recipe: RecipeFile,
    override: Overrides = None,
    cache: Cache = None,
    engine: EngineName = None,
    overwrite: Overwrite = False,
    trust_python: TrustPython = False,
) -> None:
    """Distil teachers with the same labels into one fast student, with labelled texts."""
    from alloykit.recipe.models import DistillRecipe, read_recipe
    from alloykit.stages.distillation import distill_recipe
    from alloykit.teachers.trust import python_trusted

    with python_trusted(trust_python):
        checked = read_recipe(recipe, DistillRecipe, with_engine(override, engine))
        run = distill_recipe(checked, cache=cache, overwrite=overwrite)
    _show(run)


@command
def teach(
    recipe: RecipeFile,
    override: Overrides = None,
    together: Annotated[
        bool, typer.Option("--together", help="Fine-tune several encoders (`models:`) at once, under one shared head.")
    ] = False,
) -> None:
    """Fine-tune a teacher on labelled texts, with all labels or some of them."""
    from alloykit.recipe.models import TeachRecipe, TogetherRecipe, read_recipe

    if together:
        from alloykit.stages.teach_recipes import teach_together_recipe

        for folder in teach_together_recipe(read_recipe(recipe, TogetherRecipe, override)):
            terminal.echo(f"teacher: {folder}")
        return
    from alloykit.stages.teach_recipes import teach_recipe

    terminal.echo(f"teacher: {teach_recipe(read_recipe(recipe, TeachRecipe, override))}")


@command
def generate(recipe: RecipeFile, override: Overrides = None, trust_python: TrustPython = False) -> None:
    """Let a language model write texts for every label of every teacher."""
    from alloykit.recipe.models import GenerateRecipe, read_recipe
    from alloykit.stages.generated_texts import generate_recipe
    from alloykit.teachers.trust import python_trusted

    with python_trusted(trust_python):
        terminal.echo(f"texts: {generate_recipe(read_recipe(recipe, GenerateRecipe, override))}")


@command
def sweep(
    recipe: RecipeFile,
    override: Overrides = None,
    cache: Cache = None,
    engine: EngineName = None,
    part: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Compute only one of N parts, such as 1/4. Use it to share the work among several machines.",
        ),
    ] = "1/1",
    trust_python: TrustPython = False,
) -> None:
    """Compute only the teachers' outputs, and store them for later runs."""
    from alloykit.recipe.models import Recipe, read_recipe
    from alloykit.stages.sweeping import sweep_recipe
    from alloykit.teachers.trust import python_trusted

    with python_trusted(trust_python):
        sweep_recipe(read_recipe(recipe, Recipe, with_engine(override, engine)), cache=cache, part=_part(part))


@command
def plan(
    recipe: RecipeFile,
    override: Overrides = None,
    probe: Annotated[bool, typer.Option(help="Let every model read a few batches, to predict the time.")] = True,
    trust_python: TrustPython = False,
    as_json: AsJson = False,
) -> None:
    """Check a recipe and show what it would run: labels, passes, disk space and time. It writes nothing."""
    from alloykit.cli.listings import plan_lines
    from alloykit.recipe.models import Recipe, read_recipe
    from alloykit.stages.planning import plan_recipe
    from alloykit.teachers.trust import python_trusted

    with python_trusted(trust_python):
        found = plan_recipe(read_recipe(recipe, Recipe, override), probe=probe)
    if as_json:
        terminal.echo_json(found)
    else:
        terminal.echo_lines(plan_lines(found))


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
    """Check this machine, and the teachers and texts of a recipe. It says what to do about problems, and writes nothing. The exit code is 2 if the recipe cannot run."""
    from alloykit.cli.listings import doctor_lines
    from alloykit.stages.examine import examine
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
    as_json: AsJson = False,
) -> None:
    """Measure the accuracy of teachers, ensemble, routing and student on labelled texts."""
    from alloykit.commands.evaluate import evaluate as job
    from alloykit.evaluation.score_table import score_table

    result = job(
        run, data, text=text, label=label, text_pair=text_pair, cache=cache, engine=engine, trust_remote_code=trust,
        trust_python=trust_python,
    )  # fmt: skip
    if as_json:
        terminal.echo_json(result)
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


@command
def suggest(
    run: Annotated[Path, typer.Argument(help="A finished run folder.", metavar="RUN")],
    n: Annotated[int, typer.Option("--n", metavar="N", help="How many texts.")] = 100,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The CSV file to write.")] = Path("to-label.csv"),
    cache: Cache = None,
    trust: Trust = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file that is there.")] = False,
) -> None:
    """Write the texts that student and teachers are least sure of, as CSV to fill in. `update --labelled` learns from it."""
    from alloykit.commands.suggest import suggest as job

    found = job(run, n, output=output, cache=cache, trust_remote_code=trust, overwrite=overwrite)
    terminal.echo(f"texts to label: {output} ({len(found)} texts; fill in the column `label`)")


@command
def update(
    run: Annotated[Path, typer.Argument(help="A finished run folder. It stays as it is.", metavar="RUN")],
    add_teacher: Annotated[
        list[str] | None,
        typer.Option(
            "--add-teacher", metavar="MODEL", help="A further teacher: a folder or a hub id. You can repeat it."
        ),
    ] = None,
    remove_teacher: Annotated[
        list[str] | None,
        typer.Option("--remove-teacher", metavar="NAME", help="A teacher to leave out. You can repeat it."),
    ] = None,
    replace_teacher: Annotated[
        list[str] | None,
        typer.Option("--replace-teacher", metavar="NAME=MODEL", help="A new model for a teacher. You can repeat it."),
    ] = None,
    add_texts: Annotated[
        list[str] | None,
        typer.Option("--add-texts", metavar="FILE", help="Further texts, with the same columns. You can repeat it."),
    ] = None,
    labelled: Annotated[
        list[str] | None,
        typer.Option(
            "--labelled",
            metavar="FILE",
            help="Labelled texts: CSV with the columns text and label, such as `suggest` writes. You can repeat it.",
        ),
    ] = None,
    override: Overrides = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The new run folder. Default: RUN-2, RUN-3 after it.")
    ] = None,
    cache: Cache = None,
    overwrite: Overwrite = False,
    trust: Trust = False,
) -> None:
    """Make a new run from a finished one: only what is new is computed, and the student continues the earlier one."""
    from alloykit.stages.run_folder import RunFolder
    from alloykit.stages.update_recipe import Changes
    from alloykit.stages.update_run import CHANGES_PAGE, update_run

    replaced = dict(_name_and_model(text) for text in replace_teacher or ())
    changes = Changes(
        add_teacher or (), remove_teacher or (), replaced, add_texts or (), labelled or (), override or ()
    )  # fmt: skip
    new, found = update_run(
        RunFolder(run), changes, output=output, cache=cache, overwrite=overwrite, trust_remote_code=trust
    )  # fmt: skip
    _show(new)
    if found:
        from alloykit.cli.listings import changes_lines

        terminal.echo_lines(changes_lines(found))
        terminal.echo(f"changes: {new.folder / CHANGES_PAGE}")


@command
def watch(
    run: Annotated[Path, typer.Argument(help="A finished run folder.", metavar="RUN")],
    texts: Annotated[str, typer.Argument(help="The new texts: a file, a folder or a hub id.", metavar="TEXTS")],
    text: TextColumn = "text",
    text_pair: PairColumn = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write the page. Default: watch.html in the run folder."),
    ] = None,
    fail_over: Annotated[
        float | None,
        typer.Option(
            "--fail-over",
            metavar="X",
            help="End with 1 if a population stability index is above X, such as 0.25, and not by chance.",
        ),
    ] = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Compare new texts with the pool, by the student's answers: labels, confidence, energy."""
    from alloykit.cli.listings import watch_lines
    from alloykit.commands.watch import watch as job

    found = job(run, texts, text=text, text_pair=text_pair, output=output, trust_remote_code=trust)
    if as_json:
        terminal.echo_json(found)
    else:
        terminal.echo_lines(watch_lines(found))
        terminal.echo(f"page: {found['page']}")
    if fail_over is not None and found["psi"] > fail_over:
        raise typer.Exit(1)


@command
def push(
    run: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")],
    repository: Annotated[str, typer.Argument(help="The repository on the hub: owner/name.", metavar="OWNER/NAME")],
    private: Annotated[
        bool, typer.Option("--private", help="Create a private repository. If a public one exists, it is an error.")
    ] = False,
    branch: Annotated[
        str | None, typer.Option("--branch", metavar="NAME", help="Push to this branch instead of the main one.")
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--license",
            metavar="ID",
            help="The model's licence. Default: the licence in the teachers' cards, if all state the same one.",
        ),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
            "--language",
            metavar="CODE",
            help="A language of the texts, such as en. You can repeat it. Default: the languages in the teachers' cards, if every card states one.",
        ),
    ] = None,
    with_cache: Annotated[
        bool,
        typer.Option(
            "--with-cache",
            help="Also upload the teachers' outputs. Others can then train students without the teachers.",
        ),
    ] = False,
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Also upload the texts. Make sure that you may publish them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the files that would be uploaded.")] = False,
) -> None:
    """Upload the student, its model card, and its ONNX files (if it has any) to the hub."""
    from alloykit.commands.push import push as job

    found = job(
        run, repository, private=private or None, branch=branch, licence=licence, languages=language or (),
        with_cache=with_cache, with_texts=with_texts, dry_run=dry_run,
    )  # fmt: skip
    if dry_run:
        terminal.echo_lines([f"{file['path']}: {file['bytes']:,} bytes" for file in found["files"]])
        terminal.echo(f"would push {len(found['files'])} files, {found['bytes'] / 1e6:,.1f} MB, to {repository}")
    else:
        terminal.echo(f"pushed: {found['url']}")


@command
def predict(
    run: Folder,
    texts: Annotated[
        str, typer.Argument(help="A file of texts, or - for standard input (one text per line).", metavar="TEXTS")
    ] = "-",
    every: Annotated[bool, typer.Option("--all", help="Print the probability of every label.")] = False,
    none_of_these: Annotated[
        bool,
        typer.Option(
            "--none-of-these",
            help="Print how unusual each text is: the share of the pool's texts that are less unusual. From 0.95 on, ask whether any label fits.",
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of standard output.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="For large files: write one Parquet file of answers here for each file of texts. If you run the command again, it goes on where it stopped.",
        ),
    ] = None,
    engine: EngineName = None,
    text: TextColumn = "text",
    text_pair: PairColumn = None,
    trust: Trust = False,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Use the ONNX file that `alloykit export RUN --onnx` wrote.")
    ] = False,
) -> None:
    """Predict the labels of texts: one JSON line per input row, in order."""
    if to is not None:
        from alloykit.stages.predict_files import predict_files

        if texts == "-" or output is not None:
            raise AlloyError(
                expected="a file or folder of texts, and no --output, with --to",
                got="standard input" if texts == "-" else "--output",
                hint="For instance `alloykit predict RUN texts/ --to answers/`.",
            )
        written = predict_files(
            run, texts, to,
            all_probabilities=every, text=text, text_pair=text_pair, engine=engine, trust_remote_code=trust,
        )  # fmt: skip
        terminal.echo(f"answers: {len(written)} files in {to}")
        return
    if engine is not None:
        raise AlloyError(
            expected="--to FOLDER with --engine", got="none", hint="Workers can share only the files of --to."
        )
    from alloykit.commands.predict import predict as job
    from alloykit.files import write_output
    from alloykit.stages.output_folder import check_file

    origin = texts if texts != "-" else sys.stdin
    if origin is None:
        raise AlloyError(expected="texts on standard input", got="a closed one", hint="Pipe texts, or name a file.")
    if output is not None:
        check_file(output)
    answers = job(
        run, origin, all_probabilities=every, none_of_these=none_of_these, text=text, text_pair=text_pair, trust_remote_code=trust, onnx=onnx,
    )  # fmt: skip
    lines = (f"{to_json(answer)}\n" for answer in answers)
    if output is not None:
        write_output(output, "".join(lines))
    else:
        for line in lines:
            terminal.write(line)


@command
def export(
    run: Folder,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write the student as ONNX.")] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Also write a graph in 8-bit integers, calibrated on the texts.")
    ] = False,
    fp16: Annotated[bool, typer.Option("--fp16", help="Also write a graph in float16, for GPUs and browsers.")] = False,
    texts: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Texts for the calibration and for the comparison with PyTorch. Default: those of the run's recipe.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to write. Default: export/onnx in the run folder.")
    ] = None,
    text: TextColumn = "text",
    text_pair: PairColumn = None,
) -> None:
    """Write the student as ONNX for other runtimes, and compare its answers with those of PyTorch."""
    from alloykit.commands.export import export as job

    if not onnx:
        raise AlloyError(expected="a format to export to", got="none", hint="Add --onnx.")
    place = job(run, int8=int8, fp16=fp16, texts=texts, output=output, text=text, text_pair=text_pair)
    terminal.echo(f"export: {place}")


@command
def serve(
    run: Folder,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Use the ONNX file that `alloykit export RUN --onnx` wrote.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address to listen on. 127.0.0.1: only this machine can use the server. 0.0.0.0: everybody who can reach the port, without password and encryption.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port. 0: a free port, which is printed.")] = 8000,
    batch: Annotated[int, typer.Option(metavar="N", help="The largest number of texts in a batch.")] = 32,
    wait_ms: Annotated[
        float, typer.Option(metavar="MS", help="How long the first text of a batch waits for others, in milliseconds.")
    ] = 2.0,
    queue: Annotated[
        int,
        typer.Option(
            metavar="N", help="The largest number of waiting texts. If the queue is full, a request gets status 503."
        ),
    ] = 512,
    texts_per_request: Annotated[int, typer.Option(metavar="N", help="The largest number of texts in a request.")] = 32,
    characters: Annotated[int, typer.Option(metavar="N", help="The largest number of characters in a text.")] = 20_000,
    timeout: Annotated[
        float, typer.Option(metavar="S", help="Seconds after which a request without an answer gets status 503.")
    ] = 30.0,
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="Threads of the computation. Default: as many as torch chooses.")
    ] = None,
    truncate: Annotated[
        bool, typer.Option(help="Cut long texts, or answer them with an error. A request can choose with `truncate`.")
    ] = True,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Another host name that requests to a server on 127.0.0.1 may use, for a proxy. You can repeat it.",
        ),
    ] = None,
    teachers: Annotated[
        bool,
        typer.Option("--teachers", help="Keep the teachers in memory. The page then shows their answers to any text."),
    ] = False,
    cache: Cache = None,
    trust: Trust = False,
    trust_python: TrustPython = False,
) -> None:
    """Serve a student over HTTP, with /predict as in text-embeddings-inference, and with a page to try it."""
    from alloykit.commands.serve import serve as job

    job(
        run, onnx=onnx, teachers=teachers, cache=cache, trust_remote_code=trust, trust_python=trust_python,
        ready=lambda address: terminal.echo(f"serving at {address}", now=True),
        host=host, port=port, batch=batch, wait_ms=wait_ms, queue=queue, texts_per_request=texts_per_request,
        characters=characters, timeout=timeout, threads=threads, truncate=truncate, allowed_hosts=tuple(allowed_hosts or ()),
    )  # fmt: skip


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


@command
def schema(
    kind: Annotated[
        RecipeKind,
        typer.Argument(
            help="The kind of recipe, by its command: amalgamate, distill, teach, together (for `teach --together`) or generate.",
            metavar="KIND",
        ),
    ] = RecipeKind.amalgamate,
) -> None:
    """Print the JSON schema of a recipe, for editors. To use it, begin a recipe with `# yaml-language-server: $schema=FILE`."""
    from alloykit.recipe.schema import recipe_schema

    terminal.echo_json(recipe_schema(kind.value))


def _show(run: Any) -> None:
    """Print the scores of a finished run, and where its files are. With several processes, only process 0 prints."""
    if launched()[0]:
        return
    from alloykit.evaluation.score_table import score_table

    if "evaluation" in run.metrics:
        terminal.echo_rich(score_table(run.metrics["evaluation"]))
    terminal.echo(f"student: {run.student}" if run.has_student else f"results: {run.folder / 'metrics.json'}")
    terminal.echo(f"report: {run.report_page}")


def _name_and_model(text: str) -> tuple[str, str]:
    name, sign, model = text.partition("=")
    if not (name and sign and model):
        raise AlloyError(expected="--replace-teacher like billing=teachers/billing-2", got=repr(text), hint="")
    return name, model


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
    set_quiet(launched()[0] > 0)
    with exit_codes(), noted_interrupts():
        code = app(standalone_mode=False)  # not standalone, so that `exit_codes` gets the exceptions
        if code == INTERRUPTED:  # newer typer turns the interrupt into an exit code by itself
            raise KeyboardInterrupt
    sys.exit(code)


if __name__ == "__main__":
    main()
