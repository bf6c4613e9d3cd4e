"""results/mixed.md: the figures of results/mixed/kinds.json."""

from __future__ import annotations

from typing import Any

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows
from benchmarks.mixed.kinds import KINDS


def write() -> None:
    lines = ["# Teachers of different kinds", ""]
    made = measured("mixed", "kinds")
    lines += ["Not measured yet.", ""] if made is None else [*_kinds(made["figures"]), *ran(made)]
    write_atomic(RESULTS / "mixed.md", "\n".join(lines).rstrip() + "\n")


def _kinds(f: dict[str, Any]) -> list[str]:
    s, service = f["settings"], f["service"]
    body = [
        [name, f"{100 * f['same'][name]:.1f}", f"{100 * f['mixed'][name]:.1f}"]
        for name in ("ensemble", "routing", "student", "oracle routing")
        if name in f["same"] and name in f["mixed"]
    ]
    teachers = [
        [str(n), ", ".join(labels), kind] for n, (labels, kind) in enumerate(zip(f["groups"], KINDS, strict=True), 1)
    ]
    return [
        f"Google Snippets, four teachers that know two labels each. They learned from {s['taught']:,} texts in all. The pool has {s['pool']:,} other texts without labels, "
        f"the test {s['test']} texts; {s['tokens']} tokens of each. Method: Alloy, with its defaults. Models are three layers of MiniLM. scikit-learn: TF-IDF and logistic regression, from a skops file. The stored "
        f"answers are log-probabilities of a model, and {100 * s['no_answer']:.0f} % of the texts have none. The service is a local server in the format of text-embeddings-inference.",
        "",
        *rows(["teacher", "labels", "in the mixed run"], teachers),
        "Accuracy in %, one seed (about 2 points are chance):",
        "",
        *rows(["classifier", "four models of transformers", "four kinds"], body),
        f"The mixed run was killed after {service['before_the_kill']:,} answers of the service, and started again. The service answered {service['texts']:,} different texts, and "
        f"{service['answered_again']} of them a second time. These are texts of the requests that were under way at the kill (at most 4 requests of 16 texts), and texts of its probe.",
        "",
    ]
