"""Which results each hand-written text was last checked against, so that its figures do not grow old unseen.

    python -m benchmarks.checked                                  the texts whose results have changed since
    python -m benchmarks.checked benchmarks/muka/notes/full.md    after you compared each figure of this text with its tables

A text is a note or the summary of a page of results, or a page of the docs that names the commands of its figures. results/checked.json
holds the digest of each results file that a text speaks of. A test fails while a digest is another one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS

ROOT = Path(__file__).parents[1]
CHECKED = RESULTS / "checked.json"
COMMAND = re.compile(r"python -m benchmarks ([a-z]\w*)(?: ([a-z]\w*))?")
TEXTS = ("benchmarks/*/notes/*.md", "benchmarks/*/summary.md", "docs/**/*.md", "README.md")
# The figures of the history are of the day of each entry. `make docs` copies the pages of results to docs/results.
LEFT_OUT = ("docs/dev/alloy-history.md", "docs/results/")

Digests = dict[str, str]  # of results files, by their path in results/


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.checked", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="texts that agree with their results now")
    args = parser.parse_args()
    every, known = now(), _known()
    if wrong := [text for text in args.texts if text not in every]:
        parser.error(
            "expected texts with figures of the results, as paths from the repository's folder, such as "
            f"benchmarks/muka/notes/full.md; got {', '.join(wrong)}"
        )
    kept = {text: every[text] if text in args.texts else known.get(text, {}) for text in every}
    if args.texts:
        write_atomic(CHECKED, json.dumps(kept, indent=1) + "\n")
    print(*(changed(kept, every) or ["The figures of all texts were checked against the committed results."]), sep="\n")


def changed(known: dict[str, Digests], every: dict[str, Digests]) -> list[str]:
    """What to check: a line for each text whose results are not those that it was checked against."""
    lines = []
    for text, digests in every.items():
        before = known.get(text, {})
        files = sorted(f for f in before.keys() | digests.keys() if before.get(f) != digests.get(f))
        if files:
            lines.append(
                f"{text}: its figures were checked against other results of {', '.join(files)}. Compare each figure with the "
                f"tables, then run: python -m benchmarks.checked {text}"
            )
    return lines


def unchecked() -> list[str]:
    """The lines of all texts of this repository."""
    return changed(_known(), now())


def now() -> dict[str, Digests]:
    """The digests of the results that each text speaks of. A text without results is not in it."""
    digests = {
        path.relative_to(RESULTS).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted(RESULTS.glob("*/*.json"))
    }
    found = {}
    for path in sorted(path for pattern in TEXTS for path in ROOT.glob(pattern)):
        text = path.relative_to(ROOT).as_posix()
        wanted = _of_note(path, digests) if text.startswith("benchmarks/") else _of_page(path, digests)
        if wanted and not text.startswith(LEFT_OUT):
            found[text] = {file: digests[file] for file in wanted}
    return found


def _of_note(path: Path, digests: Digests) -> list[str]:
    """The results of the note's table, else of all tables of its page: a note may be a summary."""
    group = path.relative_to(ROOT).parts[1]
    return _of_table(group, path.stem, digests) or _of_table(group, "", digests)


def _of_page(path: Path, digests: Digests) -> list[str]:
    """The results of the commands on a page of the docs."""
    commands = COMMAND.findall(path.read_text(encoding="utf-8"))
    return sorted({file for group, table in commands for file in _of_table(group, table, digests)})


def _of_table(group: str, table: str, digests: Digests) -> list[str]:
    """A table may have several files (`curve-1000.json`, `table1-paper.json`). Without a table: all files of the group."""
    names = f"{table}(-.+)?" if table else ".+"
    return [file for file in digests if re.fullmatch(rf"{group}/{names}\.json", file)]


def _known() -> dict[str, Digests]:
    return dict(json.loads(CHECKED.read_text(encoding="utf-8"))) if CHECKED.exists() else {}


if __name__ == "__main__":
    main()
