"""Commands that use a finished run: ask its student, export, serve or upload it, compare, and update it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from alloykit import terminal
from alloykit.cli.app import command, show_run
from alloykit.cli.options import (
    AsJson,
    Cache,
    EngineName,
    Folder,
    Overrides,
    Overwrite,
    PairColumn,
    TextColumn,
    Trust,
    TrustPython,
    TrustUrl,
)
from alloykit.errors import AlloyError
from alloykit.escape import to_json
from alloykit.names import counted


@command
def suggest(
    run: Annotated[Path, typer.Argument(help="A finished run folder.", metavar="RUN")],
    n: Annotated[int, typer.Option(metavar="N", help="How many texts.")] = 100,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The CSV file to write.")] = Path("to-label.csv"),
    cache: Cache = None,
    trust: Trust = False,
    trust_python: TrustPython = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file that is there.")] = False,
) -> None:
    """Write the texts that student and teachers are least confident about, as CSV to fill in. `update --labelled` learns from it."""
    from alloykit.commands.suggest import suggest as job

    found = job(
        run, n, output=output, cache=cache, trust_remote_code=trust, trust_python=trust_python, overwrite=overwrite
    )
    terminal.echo(f"texts to label: {output} ({counted(len(found), 'text')}; fill in the column `label`)")


@command
def update(
    run: Annotated[Path, typer.Argument(help="A finished run folder. It stays as it is.", metavar="RUN")],
    add_teacher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A further teacher: a folder or a hub id. With several questions: QUESTION=MODEL. You can repeat it.",
        ),
    ] = None,
    remove_teacher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A teacher to leave out. With several questions: QUESTION/NAME. You can repeat it.",
        ),
    ] = None,
    replace_teacher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODEL",
            help="A new model for a teacher. With several questions: QUESTION/NAME=MODEL. You can repeat it.",
        ),
    ] = None,
    add_texts: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Further texts, with the same columns. You can repeat it."),
    ] = None,
    labelled: Annotated[
        list[str] | None,
        typer.Option(
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
    trust_python: TrustPython = False,
    trust_url: TrustUrl = False,
) -> None:
    """Make a new run from a finished one: only what is new is computed, and the student continues the earlier one."""
    from alloykit.commands.update import update as job
    from alloykit.finished_runs.compare_students import read_changes
    from alloykit.run_folder.file_names import CHANGES_PAGE

    new = job(
        run, add_teachers=add_teacher or (), remove_teachers=remove_teacher or (), replace_teachers=_replaced(replace_teacher or ()),
        add_texts=add_texts or (), labelled=labelled or (), override=override or (), output=output, cache=cache,
        overwrite=overwrite, trust_remote_code=trust, trust_python=trust_python, trust_url=trust_url,
    )  # fmt: skip
    show_run(new)
    if found := read_changes(new):
        from alloykit.cli.listings import changes_lines

        terminal.echo_lines(changes_lines(found))
        for part in new.questions.values() or (new,):
            terminal.echo(f"changes: {part.folder / CHANGES_PAGE}")


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
        for part in found.get("questions", {"": found}).values():
            terminal.echo(f"page: {part['page']}")
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
        str | None, typer.Option(metavar="NAME", help="Push to this branch instead of the main one.")
    ] = None,
    license: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The model's licence. Default: the licence in the teachers' cards, if all state the same one.",
        ),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
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
        run, repository, private=private or None, branch=branch, license=license, languages=language or (),
        with_cache=with_cache, with_texts=with_texts, dry_run=dry_run,
    )  # fmt: skip
    if dry_run:
        terminal.echo_lines([f"{file['path']}: {file['bytes']:,} bytes" for file in found["files"]])
        terminal.echo(
            f"would push {counted(len(found['files']), 'file')}, {found['bytes'] / 1e6:,.1f} MB, to {repository}"
        )
    else:
        terminal.echo(f"pushed: {found['url']}")


@command
def predict(
    run: Folder,
    texts: Annotated[
        str, typer.Argument(help="A file of texts, or - for standard input (one text per line).", metavar="TEXTS")
    ] = "-",
    all_probabilities: Annotated[
        bool, typer.Option("--all-probabilities", help="Print the probability of every label.")
    ] = False,
    none_of_these: Annotated[
        bool,
        typer.Option(
            "--none-of-these",
            help="Print how unusual each text is: the share of the pool's texts that are less unusual. From 0.95 on, ask whether any label fits.",
        ),
    ] = False,
    estimated_accuracy: Annotated[
        bool,
        typer.Option(
            "--estimated-accuracy",
            help="Print the estimated accuracy of the student's answers with this label. The run estimated it on its pool.",
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
        from alloykit.finished_runs.predict_files import predict_files

        if texts == "-" or output is not None:
            raise AlloyError(
                expected="a file or folder of texts, and no --output, with --to",
                got="standard input" if texts == "-" else "--output",
                hint="For instance `alloykit predict RUN texts/ --to answers/`.",
            )
        written = predict_files(
            run, texts, to,
            all_probabilities=all_probabilities, none_of_these=none_of_these, estimated_accuracy=estimated_accuracy, text=text, text_pair=text_pair,
            engine=engine, trust_remote_code=trust, onnx=onnx,
        )  # fmt: skip
        terminal.echo(f"answers: {counted(len(written), 'file')} in {to}")
        return
    if engine is not None:
        raise AlloyError(
            expected="--to FOLDER with --engine", got="none", hint="Workers can share only the files of --to."
        )
    from alloykit.commands.predict import predict as job
    from alloykit.files import write_output
    from alloykit.run_folder.output_folder import check_file
    from alloykit.run_folder.run_folder import files_to_keep

    origin = texts if texts != "-" else sys.stdin
    if origin is None:
        raise AlloyError(expected="texts on standard input", got="a closed one", hint="Pipe texts, or name a file.")
    if output is not None:
        check_file(output, [texts, *files_to_keep(run)])
    answers = job(
        run, origin, all_probabilities=all_probabilities, none_of_these=none_of_these, estimated_accuracy=estimated_accuracy, text=text, text_pair=text_pair, trust_remote_code=trust, onnx=onnx,
    )  # fmt: skip
    if output is not None:
        write_output(output, (f"{to_json(answer)}\n" for answer in answers))
    else:
        for answer in answers:
            terminal.echo_json(answer, None)


@command
def export(
    run: Folder,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write the student as ONNX.")] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Also write a graph in 8-bit integers, calibrated on the texts.")
    ] = False,
    fp16: Annotated[bool, typer.Option("--fp16", help="Also write a graph in float16, for GPUs and browsers.")] = False,
    min_agreement: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The least share of the texts on which the int8 and float16 graphs must give the student's label. Below it, nothing is exported.",
        ),
    ] = 0.99,
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
    trust: Trust = False,
) -> None:
    """Write the student as ONNX for other runtimes, and compare its answers with those of PyTorch."""
    from alloykit.commands.export import export as job

    if not onnx:
        raise AlloyError(expected="a format to export to", got="none", hint="Add --onnx.")
    place = job(
        run, int8=int8, fp16=fp16, min_agreement=min_agreement, texts=texts, output=output, text=text, text_pair=text_pair,
        trust_remote_code=trust,
    )  # fmt: skip
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
    trust_url: TrustUrl = False,
) -> None:
    """Serve a student over HTTP, with /predict as in text-embeddings-inference, and with a page to try it."""
    from alloykit.commands.serve import serve as job

    job(
        run, onnx=onnx, teachers=teachers, cache=cache, trust_remote_code=trust, trust_python=trust_python, trust_url=trust_url,
        ready=lambda address: terminal.echo(f"serving at {address}", now=True),
        host=host, port=port, batch=batch, wait_ms=wait_ms, queue=queue, texts_per_request=texts_per_request,
        characters=characters, timeout=timeout, threads=threads, truncate=truncate, allowed_hosts=tuple(allowed_hosts or ()),
    )  # fmt: skip


def _replaced(given: Sequence[str]) -> dict[str, str]:
    """By name, the new models of --replace-teacher. AlloyError for anything but NAME=MODEL, and for a name that comes twice."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, model = text.partition("=")
        if not (name and sign and model):
            raise AlloyError(expected="--replace-teacher like billing=teachers/billing-2", got=repr(text), hint="")
        if name in found:
            raise AlloyError(
                expected="one new model for each teacher", got=f"'{found[name]}' and '{model}' for '{name}'", hint=""
            )
        found[name] = model
    return found
