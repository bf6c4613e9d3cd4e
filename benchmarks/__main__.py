"""Run the experiments of a paper and write its page. Finished cells are skipped, so an interrupted run continues.

Results go to benchmarks/results/PAPER/TABLE.json after every cell. The page benchmarks/results/PAPER.md is written at the end.
benchmarks/README.md explains the harness, benchmarks/DATA.md the data sets.
"""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path

TABLES = {
    "encoders": {
        "chinese": "train a small Chinese BERT and measure its accuracy",
        "bpe": "train a small RoBERTa with byte-level BPE",
        "multilingual": "train a small BERT for English and Chinese and measure its accuracy",
    },
    "muka": {
        "table1": "Table 1: two teachers, all methods, three pools",
        "table2": "Table 2: MUKA without dropout passes, and without re-weighting",
        "table3": "Table 3: three, four and five teachers",
        "table4": "Table 4: teachers of other depth, width, architecture and tokenizer",
        "table5": "Table 5: teachers of different data sets and languages",
        "fig3": "Fig. 3: uncertainty of teachers that know a text and of those that do not",
        "fig4": "Fig. 4: MUKA's targets against a model trained with all labels",
        "fig5": "Fig. 5: labels of texts that are routed to a wrong teacher",
        "fig6": "Fig. 6: the temperature of MUKA-Soft",
        "curve": "Table 1's setting on AG News with 1,000 to 62,760 texts",
        "full": "Tables 1 and 4 with all training texts, MPNet-base and MiniLM of six layers, for a GPU",
        "checkpoint": "the checkpoint chosen with labels, without labels, and not chosen",
    },
    "stratanet": {
        "generator": "the text generator: control, diversity and time",
        "table3": "Table 3, Figs. 3A and 3B: students of generated, random, other domains' and real texts",
        "narrow": "Table 3 again, with generated texts of low diversity",
        "fig4": "Fig. 4: the weight of the intermediate layers",
        "fig5": "Fig. 5: texts of a prompted or a free language model",
        "table5": "Table 5, Fig. 3C: other architectures, smaller students, more teachers",
        "folders": "from model folders to a student, by the command line",
        "samples": "the first generated texts of each class",
        "larger": "students of texts that SmolLM2-135M wrote, beside the small language model's",
        "domains": "students of texts that SmolLM2-135M was prompted for, of three sets",
        "fig5_larger": "Fig. 5 with SmolLM2-135M: prompted in many ways, alone, and steered",
        "larger_samples": "the first texts of SmolLM2 for each class",
        "writing": "CPU seconds for each text of SmolLM2",
        "strength": "γ for SmolLM2, chosen on 5Abstracts' classes",
    },
    "distill": {
        "size": "size and speed of students and teachers",
        "selection": "RL-KD's policy on a task whose right answer is known",
        "larger": "students of both methods with 3,000 texts, of two and of six layers",
        "own_rates": "the same with alloykit's default rate for each model, and MPNet-base as a teacher",
        "rlkd4": "RL-KD, Tables 3-5: teachers, ensembles and students of six tasks",
        "mtbert": "MT-BERT, Tables 2-3 and Figs. 3-5",
    },
    "alloy": {
        "targets": "what students would learn from, of Alloy, its rivals, its variants and oracle routing, on six pools",
        "students": "students of Alloy, its rivals and oracle routing",
        "more_targets": "the same targets in float32, of teachers whose labels are dealt a second and a third time, overlap, or are unevenly many",
        "in_common": "targets of teachers that have half of their labels or more in common",
        "unequal": "targets of teachers of which the first one is worse than the others",
        "unequal_students": "students of such teachers, on StackOverflow",
        "catch_all": "targets of teachers that have a label for all texts whose label they do not know",
        "six_layers": "targets of teachers of six layers in place of three",
        "across": "targets of teachers that were trained on different data sets",
        "across_students": "students of such teachers",
        "outside": "students of the sets that were tried after the ninth version",
        "outside_targets": "targets of these sets",
        "few": "students with 1 to 20 labelled texts for every label, beside fine-tuning on the same texts",
        "foreign": "targets in pools with foreign texts of many kinds, with and without a background",
        "other_topics": "targets in pools of texts about other topics than the teachers' labels, and whether Alloy warns",
        "other_topics_students": "students that learn from such texts",
        "repeated": "targets in pools in which some texts come again and again",
        "suggest": "students that continue with 100 or 300 labelled texts: suggested ones, and random ones",
        "none": "how well students tell texts that no teacher knows",
        "cost": "the time that Alloy adds to a run",
    },
    "significance": {
        "coverage": "how often each interval of a difference is wrong, and how often it detects a difference",
    },
    "defaults": {
        "choice": "the students by which the default learning rate and number of epochs were chosen",
        "grid": "the defaults against a grid of learning rates and epochs, on five other data sets",
        "sizes": "the defaults with 20,000 and 100,000 texts, and with encoders of six and twelve layers",
    },
    "long_texts": {
        "answers": "accuracy of teachers and students by what they read of long texts",
    },
    "mixed": {
        "kinds": "teachers of four kinds beside teachers of one kind; a run killed while a service answers",
        "states": "Alloy's targets with the teachers' own states, and with those of a neutral encoder",
        "questions": "one student for two questions beside two students of one question each",
        "words": "into how many tokens an English tokenizer splits the words of 22 languages",
    },
    "speed": {
        "passes": "a Monte-Carlo pass against a plain pass, at 32, 64 and 128 tokens",
        "amalgamation": "a whole amalgamation against the same written by hand",
        "growth": "time against the number of texts and of teachers",
        "floor": "where the time goes, against the machine's rate of matrix products",
        "base_size": "a run with models of BERT-base's size, for a GPU: texts a second, and the share of its rate",
        "formats": "bfloat16 and int8 teachers: speed, and agreement with float32",
        "memory": "peak resident memory by number of texts",
        "compiled_products": "memory of training with batches of many lengths, for CPUs with fast bfloat16",
        "default_method": "the default method and MUKA against MUKA written by hand, in CPU seconds",
        "busy": "training while other programs are busy, with two ways in which threads wait",
        "textbrewer": "TextBrewer's multi-teacher distiller against `distill`",
    },
    "scale": {
        "growth": "time, memory and bytes of a sweep against the number of texts, up to 10,000,000",
        "reading": "reading and hashing texts with one process and with two; texts that are not copied",
        "workers": "one Ray worker with two threads against two with one",
        "driver": "processor time of the driver beside that of its workers",
        "cluster": "faults of a Ray cluster: workers, nodes and drivers that go, a store out of reach",
        "training": "the student of two processes that Ray Train starts, beside that of one",
        "folder": "predict over folders of Parquet files with Ray Data: memory, and the same answers",
        "storage": "a sweep into an S3 bucket that cannot be reached for a minute",
        "simulation": "a billion texts and twenty teachers on 8, 64 and 512 GPUs, simulated",
    },
    "export": {
        "agreement": "labels and accuracy of ONNX graphs in float32, int8 and float16, beside PyTorch",
        "speed": "times as fast as PyTorch, with one and with two threads",
    },
    "serve": {
        "load": "the server under load, and over its limit",
    },
    "faults": {
        "recipes": "damaged recipes",
        "models": "damaged model folders",
        "hostile": "model folders and runs that try to run code or reach the network",
        "runs": "damaged run folders",
        "stores": "damaged stores of teachers' outputs",
        "data": "damaged, huge and unusual files of texts",
        "streams": "closed and full output, unusual arguments",
        "teachers": "damaged recipes with teachers of other kinds",
        "answers": "damaged files of stored answers",
        "graphs": "damaged and hostile ONNX graphs and scikit-learn files",
        "services": "services that answer rubbish, slowly, or with too much",
        "functions": "Python functions as teachers: odd answers, errors, side effects",
        "finished": "damaged runs and folders, read by the commands after a run",
        "requests": "damaged and slow requests to the server",
        "pairs": "two commands on the same folders at the same time",
        "disks": "full disks and failing writes",
        "kills": "runs that are killed at any write or any time, and started again",
        "processes": "runs of several processes: kills, damaged inputs, a process missing",
        "later_pairs": "two commands after a run at the same time",
        "later_disks": "full disks and failing writes during the commands after a run",
        "later_kills": "kills of the commands after a run, and of runs with other teachers",
    },
}
WITHOUT_DATA = ("scale", "speed", "significance", "serve", "faults")  # some or all of their tables read no data sets


def tables() -> str:
    """All tables, for `--help`."""
    width = max(len(name) for group in TABLES.values() for name in group)
    lines = []
    for paper, group in TABLES.items():
        lines += ["", f"{paper}:", *(f"  {name:<{width}}  {what}" for name, what in group.items())]
    return "\n".join(["Papers and their tables:", *lines])


def main() -> None:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"{tables()}\n\nExample: python -m benchmarks muka table1 --setting ag_news --seed 0 --data data",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", choices=TABLES, metavar="PAPER", help="a group of tables, listed below")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="its tables to run (default: all)")
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="FOLDER",
                        help="folder of the data sets, see DATA.md (default: %(default)s)")  # fmt: skip
    parser.add_argument("--work", type=Path, default=Path("runs/benchmarks"), metavar="FOLDER",
                        help="folder for trained models and teachers' outputs, reused by later runs (default: %(default)s)")  # fmt: skip
    parser.add_argument("--profile", choices=("small", "paper"), default="small",
                        help="small: sizes for two cores; paper: the paper's own models and settings, for a GPU (default: small)")  # fmt: skip
    some = parser.add_argument_group("run a part of a table (each option may be repeated)")
    some.add_argument("--setting", action="append", metavar="NAME", help="only this data set or setting")
    some.add_argument("--pool", action="append", metavar="NAME", help="only this pool of unlabelled texts")
    some.add_argument("--method", action="append", metavar="NAME", help="only this method")
    some.add_argument("--seed", action="append", type=int, metavar="N", help="only this seed")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--compare", type=Path, metavar="FOLDER",
                         help="run finished cells again, with their results in FOLDER, and print each accuracy beside the committed one")  # fmt: skip
    parser.add_argument("--retry", action="store_true", help="run failed cells again")
    instead.add_argument("--page", action="store_true", help="run nothing; only write the page from the results")
    args = parser.parse_args()
    if not (args.page or args.paper in WITHOUT_DATA or args.data.is_dir()):
        parser.error(
            f"expected a folder of data sets; got {args.data}, which does not exist: give it with --data (benchmarks/DATA.md describes it)"
        )
    names = args.tables or list(TABLES[args.paper])
    for name in names:
        if name not in TABLES[args.paper]:
            parser.error(f"{args.paper} has no table '{name}'; it has {', '.join(TABLES[args.paper])}")
    found = [import_module(f"benchmarks.{args.paper}.{name}").TABLE for name in names]
    if args.profile == "paper":
        for n, name in enumerate(names):
            found[n] = getattr(found[n], "as_stated", None)
            if found[n] is None:
                parser.error(
                    f"{args.paper} {name} is not a table of a paper and has no paper's settings: leave out --profile"
                )
    from benchmarks.harness.compare import run_and_compare  # here, so that --help need not load torch
    from benchmarks.harness.data import MissingData
    from benchmarks.harness.results import RESULTS
    from benchmarks.harness.selection import wrong_selection
    from benchmarks.harness.table import Table

    only = {"setting": args.setting, "pool": args.pool, "method": args.method, "seed": args.seed}
    if (wrong := wrong_selection(dict(zip(names, found, strict=True)), only)) is not None:
        parser.error(wrong)
    parts = [part for table in found for part in getattr(table, "tables", (table,))]
    if args.compare is not None and not all(isinstance(part, Table) for part in parts):
        parser.error("--compare: expected tables that are made of cells; one of these is run as a whole")
    if args.compare is not None and args.compare.resolve() == RESULTS.resolve():
        parser.error(f"--compare: expected a folder for the new results; {args.compare} has the committed ones")
    for option, folder in () if args.page else (("--work", args.work), ("--compare", args.compare)):
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"{option}: expected a folder, or a place for a new one; got {folder}: {error.strerror}")
    try:
        if args.compare is not None:
            for part in parts:
                told = run_and_compare(part, args.data, args.work, args.compare, retry=args.retry, **only)
                print(*told, sep="\n")
            return
        for table in () if args.page else found:
            table.fill(args.data, args.work, retry=args.retry, **only)
    except MissingData as missing:
        parser.error(str(missing))
    except KeyboardInterrupt:
        parser.exit(130, "stopped; finished cells are kept. Run the same command again to go on.\n")
    import_module(f"benchmarks.{args.paper}.page").write()


if __name__ == "__main__":
    main()
