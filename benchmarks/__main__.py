"""`python -m benchmarks PAPER TABLE`: fill a paper's table; finished cells are skipped, shared stages computed once.

Writes benchmarks/results/PAPER/TABLE.json after every cell, and benchmarks/results/PAPER.md at the end.
"""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path

TABLES = {
    "encoders": {
        "chinese": "a small BERT for Chinese: train it, and say how good it is",
        "bpe": "a small RoBERTa with byte-level BPE",
        "multilingual": "a small BERT for English and Chinese",
    },
    "muka": {
        "table1": "two teachers, every method, three pools",
        "table2": "MUKA without dropout passes and without re-weighting",
        "table3": "three, four and five teachers",
        "table4": "teachers of other depth, width, architecture and tokenizer",
        "table5": "teachers of different data sets and languages",
        "fig3": "uncertainty of right and wrong teachers",
        "fig4": "supervision against a model trained with all labels",
        "fig5": "labels of wrongly routed texts",
        "fig6": "the temperature of MUKA-Soft",
        "checkpoint": "the checkpoint chosen with labels, without, and not at all",
    },
    "stratanet": {
        "generator": "the steerable generator: control, diversity and time of cheap settings",
        "table3": "students of generated texts, random words, other domains' texts, and real ones",
        "narrow": "the same of generated texts that hardly differ from each other",
        "fig4": "the weight of the intermediate layers",
        "fig5": "texts of a language model that is prompted, or left alone, in place of steered",
        "table5": "other architectures, smaller students, more teachers",
        "folders": "from model folders to a student, by the command line",
        "samples": "the first generated texts of each class",
    },
    "distill": {
        "size": "students beside their teachers: size and speed",
        "selection": "does RL-KD's policy learn, where the right answer is known",
        "rlkd4": "RL-KD, Tables 3-5: teachers, ensembles and students of six tasks",
        "mtbert": "MT-BERT, Tables 2-3 and Figs. 3-5",
    },
    "alloy": {
        "routing": "which teacher gets a text: every confidence, and Alloy on top, on eight pools",
        "students": "what students learn from it, beside MUKA's and perfectly routed ones",
        "seeds": "the spread over teachers against that over students of the same teachers",
        "cost": "what it adds to the time of a run",
    },
    "significance": {
        "coverage": "how often an interval of a difference is wrong, by seeds and their spread, and what it finds",
    },
    "defaults": {
        "choice": "students by which the default learning rate and number of steps were chosen",
        "grid": "the default against a grid of learning rates and epochs, on five other sets",
    },
    "speed": {
        "passes": "a Monte-Carlo pass against a plain pass, at 32, 64 and 128 tokens",
        "amalgamation": "a whole amalgamation against the same written by hand, and what each idea contributes",
        "growth": "time against the number of texts and of teachers",
        "floor": "where the time goes, and how far it is from the machine's rate of matrix products",
        "formats": "bfloat16 and int8 teachers: speed and agreement with float32",
        "memory": "peak resident memory by number of texts",
    },
    "faults": {
        "recipes": "damaged recipes",
        "models": "damaged model folders",
        "hostile": "model folders and runs that want to run code or reach the network",
        "runs": "damaged run folders",
        "stores": "damaged stores of teachers' outputs",
        "data": "damaged, huge and odd files of texts",
        "streams": "closed and full output, odd arguments",
        "pairs": "two commands at the same time on the same folders",
        "disks": "full disks and failing writes",
        "kills": "killed at any write and at any time, and started again",
    },
}


def main() -> None:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    lines = [f"  {paper} {table}: {what}" for paper, tables in TABLES.items() for table, what in tables.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="tables:\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", choices=TABLES)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="all of the paper's if none is named")
    parser.add_argument(
        "--profile", choices=("small", "paper"), default="small",
        help="small: for two cores; paper: the paper's own models and settings, for a GPU and the hub",
    )  # fmt: skip
    parser.add_argument("--setting", action="append", help="only these data sets, or other settings of the table")
    parser.add_argument("--pool", action="append", help="only these pools")
    parser.add_argument("--method", action="append", help="only these methods")
    parser.add_argument("--seed", action="append", type=int, help="only these seeds")
    parser.add_argument("--retry", action="store_true", help="run failed cells again")
    parser.add_argument("--page", action="store_true", help="run nothing; only write the page from the results")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data sets")
    parser.add_argument(
        "--work", type=Path, default=Path("runs/benchmarks"), help="where models and knowledge are kept"
    )
    args = parser.parse_args()
    if not (
        args.page or args.paper in ("speed", "significance", "faults") or args.data.is_dir()
    ):  # they need none, or not always
        parser.error(f"expected a folder of data sets; got {args.data}, which does not exist: name it with --data")
    for name in args.tables or TABLES[args.paper]:
        if name not in TABLES[args.paper]:
            parser.error(f"{args.paper} has no table '{name}'; it has {', '.join(TABLES[args.paper])}")
        table = import_module(f"benchmarks.{args.paper}.{name}").TABLE
        if args.profile == "paper":
            table = getattr(table, "as_stated", None)
            if table is None:
                parser.error(
                    f"{args.paper} {name} is no table of a paper, so it has no paper's settings: leave --profile out"
                )
        if not args.page:
            only = {"setting": args.setting, "pool": args.pool, "method": args.method, "seed": args.seed}
            table.fill(args.data, args.work, retry=args.retry, **only)
    import_module(f"benchmarks.{args.paper}.page").write()


if __name__ == "__main__":
    main()
