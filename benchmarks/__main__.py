"""`python -m benchmarks NAME`: run a benchmark; it goes on where it stopped and writes benchmarks/results/NAME.{json,md}."""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path

NAMES = {"first": "two MiniLM teachers on AG News, every number of the main job once"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES, help="; ".join(f"{name}: {what}" for name, what in NAMES.items()))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data sets")
    parser.add_argument(
        "--work", type=Path, default=Path("runs/benchmarks"), help="where models and knowledge are kept"
    )
    args = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import_module(f"benchmarks.{args.name}").run(args.data, args.work / args.name)


if __name__ == "__main__":
    main()
